// GradientTape: records calls and differentiates them.
#pragma once

#include <memory>
#include <vector>

#include "espalier/variable.h"

namespace espalier {

struct TapeOptions {
  bool persistent = false;               // gradient() may be called more than once
  bool watch_accessed_variables = true;  // trainable variables are watched when they are read
};

// What gradient() gives for a source that the target does not depend on.
enum class Unconnected : uint8_t { kNone, kZero };

struct GradientOptions {
  Unconnected unconnected = Unconnected::kNone;
  std::vector<Tensor> output_gradients = {};  // one per target; undefined or missing = ones
};

// A tensor or a variable to differentiate with respect to.
class Source {
 public:
  Source(Tensor tensor) : tensor_(std::move(tensor)) {}
  Source(Variable variable) : variable_(variable.state()) {}
  const Tensor& tensor() const { return tensor_; }
  const std::shared_ptr<VariableState>& variable() const { return variable_; }

 private:
  Tensor tensor_;
  std::shared_ptr<VariableState> variable_;
};

// Records the op calls of this thread that depend on watched tensors, from construction on, in eager code and
// inside traced functions. Tapes nest: an outer tape sees the gradient computation of an inner one, which
// gives higher derivatives. A tape that is not persistent stops recording and is spent after one gradient().
// Another thread may destroy one while this thread calls nothing, or has ended.
class GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  void watch(const Tensor& tensor, Location at = Location::here());
  void watch(const Variable& variable, Location at = Location::here());
  // d(sum of targets)/d(source) for each source, each of its source's type. An undefined tensor stands for
  // "no connection" unless options.unconnected is kZero. Raises StateError on a spent tape, UnsupportedError
  // for an op without gradient on the way.
  std::vector<Tensor> gradient(const std::vector<Tensor>& targets, const std::vector<Source>& sources,
                               const GradientOptions& options = {}, Location at = Location::here());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Source>& sources,
                               const GradientOptions& options = {}, Location at = Location::here());
  // gradient(loss, {w, b}).
  std::vector<Tensor> gradient(const Tensor& target, std::initializer_list<Source> sources,
                               const GradientOptions& options = {}, Location at = Location::here()) {
    return gradient(target, std::vector<Source>(sources), options, at);
  }
  Tensor gradient(const Tensor& target, const Source& source, const GradientOptions& options = {},
                  Location at = Location::here());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Variable>& variables,
                               const GradientOptions& options = {}, Location at = Location::here());

  // d target / d source, element by element: shape [target..., source...]. One reverse pass an element of
  // target.
  Tensor jacobian(const Tensor& target, const Source& source, const GradientOptions& options = {},
                  Location at = Location::here());
  // The same for each row of a batch: target [batch, t...] and source [batch, s...] give [batch, t..., s...].
  // Row i of target must depend on row i of source alone. Raises ShapeError[tape.batch] when the batches
  // differ.
  Tensor batch_jacobian(const Tensor& target, const Source& source, const GradientOptions& options = {},
                        Location at = Location::here());

  // Calls made while the returned object lives are not recorded.
  class Pause {
   public:
    explicit Pause(GradientTape& tape);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    GradientTape& tape_;
    bool before_;
  };
  [[nodiscard]] Pause stop_recording() { return Pause(*this); }
  // Forgets everything recorded and watched.
  void reset();
  // The variables that were watched since construction or the last reset, also after gradient().
  std::vector<Variable> watched_variables() const;

 private:
  struct Impl;
  // One gradient for each k below `count`: of the sum of the target's elements whose place is k.
  std::vector<Tensor> gradients_by_place(const Tensor& target, const Tensor& places, int64_t count,
                                         const Source& source, const GradientOptions& options);
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier
