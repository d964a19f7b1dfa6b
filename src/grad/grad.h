// Reverse mode: a gradient is more graph.
#pragma once

#include "base/blocks.h"
#include "ir/builder.h"

namespace espalier {

// One recorded op call, for reverse mode.
struct TapeEntry {
  // A tape has lists by the thousand.
  template <class T>
  using List = std::vector<T, BlockAllocator<T>>;

  const OpDef* op;
  AttributesPtr attributes;
  List<Tensor> inputs;
  List<Tensor> outputs;
  List<GraphPtr> regions;
};

// Keeps the calls that the current sink gets while it lives.
class CallTape final : public Recorder {
 public:
  void record(const Call& call, std::span<const Tensor> outputs) override;
  std::vector<TapeEntry> take() { return std::move(calls_); }

 private:
  std::vector<TapeEntry> calls_;
};

// Told before reverse mode differentiates a call, on this thread.
class ReverseObserver : public ThreadChain<ReverseObserver> {
 public:
  virtual ~ReverseObserver() = default;
  virtual void on_reverse(const TapeEntry& call) = 0;
};

// Gradients of `targets` weighted by `cotangents` (undefined = ones) with respect to `sources`, over calls in
// the order they were made. The gradient ops go to the current sink. A source that no target depends on gets
// an undefined tensor. Raises UnsupportedError[<op>.gradient] for a call on the way that has no gradient
// rule.
std::vector<Tensor> reverse(std::span<const TapeEntry> calls, std::span<const Tensor> targets,
                            std::span<const Tensor> cotangents, std::span<const Tensor> sources);

// The outputs of `graph`, computed from `inputs` in the graph under construction, and the gradients of its
// output `target` with respect to inputs `sources`; `seed` (undefined = ones) weighs them. Undefined for a
// source that the target does not depend on. Raises what reverse() raises.
struct WithGradients {
  std::vector<Tensor> outputs, gradients;
};
WithGradients append_with_gradients(GraphBuilder& into, const Graph& graph, std::span<const Tensor> inputs,
                                    size_t target, const Tensor& seed, std::span<const size_t> sources);

// A graph of the outputs of `graph` and, after them, those gradients, named "gradient/" and the source. It
// has them all: those of unconnected sources are zeros.
std::shared_ptr<Graph> add_gradients(const Graph& graph, size_t target, std::span<const size_t> sources);

}  // namespace espalier
