// Which op, of which layer, made a step's numbers NaN or infinite.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "eager/numerics.h"
#include "eager/trace.h"
#include "grad/grad.h"
#include "ir/sink.h"
#include "nn/layer_observer.h"
#include "train/step.h"

namespace espalier {

// Watches a step of eager calls and follows every number that is not finite from where it began. Raises
// ValueError[check_numerics] as soon as the loss, then a gradient, then a new value of a variable is not.
class NonFiniteTracer final : public StepWatch,
                              Recorder,
                              AssignObserver,
                              ReadObserver,
                              LayerObserver,
                              ReverseObserver {
 public:
  // x, then `labels` of y, then the weights of rows, which are rows `numbers` of the data, if that is known.
  NonFiniteTracer(std::span<const Tensor> arguments, std::span<const int64_t> numbers, size_t labels);
  ~NonFiniteTracer() override;
  void loss(const Tensor& loss) override;
  void gradients(const std::vector<Variable>& variables, const std::vector<Tensor>& gradients) override;
  void updated(const std::vector<Variable>& variables) override;
  // All was finite.
  [[noreturn]] void give_up();

 private:
  // Where numbers that are not finite began.
  struct Origin {
    size_t time;  // calls made before
    std::string text;
  };
  using OriginPtr = std::shared_ptr<const Origin>;
  // What is known of a tensor; kept, so that no other takes its address.
  struct Value {
    Tensor tensor;
    NotFinite found = {};
    OriginPtr origin = nullptr;  // null for finite ones, and for infinities that constants brought
    size_t call = kNone;         // that made it
  };
  struct Made {
    std::string op, layer;
    Location at;
    size_t reverse_of = kNone;  // the call whose gradient it is part of
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void record(const Call& call, std::span<const Tensor> outputs) override;
  void on_assign(const VariablePtr& variable, const Tensor& next) override;
  void on_read(const VariablePtr& variable, const Tensor& value) override;
  void on_begin(const std::string& path) override;
  void on_end(std::span<const Variable> own, std::span<const Tensor> outputs) override;
  void on_reverse(const TapeEntry& call) override;

  const Value& value_of(const Tensor& tensor);
  // A tensor that no call made; `fault` is what an error says of it when it is not finite.
  void add_leaf(const Tensor& tensor, const std::string& fault, std::span<const int64_t> numbers = {});
  // Of what was found in an output of the call that was made last: NaN is followed to NaN among the inputs,
  // else to infinities, as far as the first call without any; null for infinities that constants brought.
  OriginPtr origin_of(const Call& call, const Tensor& output, const NotFinite& found);
  std::string place_of(const Made& made) const;
  [[noreturn]] void raise(const std::string& what, const Value& value);

  Location home_, innermost_;
  bool in_loss_ = true;  // calls outside of layers belong to the loss and its gradient
  std::unordered_map<const TensorNode*, Value> values_;
  std::unordered_map<const VariableState*, Tensor> assigned_;
  std::vector<Made> made_;
  struct Inside {
    std::string path;
    Location outer;
  };
  std::vector<Inside> layers_;
  size_t reversing_ = kNone;
};

}  // namespace espalier
