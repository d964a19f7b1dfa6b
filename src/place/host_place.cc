#include "place/host_place.h"

#include <utility>
#include <vector>

#include "base/object_pool.h"
#include "passes/pass.h"
#include "place/shares.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

class HostProgram final : public Program {
 public:
  HostProgram(std::shared_ptr<const Executable> executable, std::span<const Alias> pairs)
      : executable_(std::move(executable)), donor_(executable_->graph().outputs().size(), kNone) {
    for (const Alias& pair : pairs) donor_[pair.output] = static_cast<uint32_t>(pair.input);
  }

  void call(std::span<const Tensor* const> inputs, std::span<const char> donated, std::span<Tensor> outputs,
            const RunContext& context) const override {
    std::unique_ptr<Views> views = idle_.take();
    if (!views) views = std::make_unique<Views>();
    views->inputs.clear();
    views->outputs.clear();
    for (const Tensor* input : inputs) views->inputs.push_back({&input->type(), input->bytes()});
    const Graph& graph = executable_->graph();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = graph.type(graph.outputs()[i].value);
      const uint32_t donor = donor_[i];
      if (donor != kNone && donated[donor] && lies_here(*inputs[donor])) {
        views->outputs.push_back({&type, inputs[donor]->node()->literal().buffer().get()});
      } else {
        Buffer buffer = allocate_buffer(type.bytes());
        views->outputs.push_back({&type, buffer.get()});
        outputs[i] = make_concrete(Literal(type, std::move(buffer)));
      }
    }
    // Types are the graph's, and an array is donated that nobody else holds.
    run_unchecked(*executable_, views->inputs, views->outputs, context);
    idle_.give(std::move(views));
  }

  std::optional<size_t> bytes() const override { return executable_->bytes(); }

 private:
  struct Views {
    std::vector<ArrayView> inputs;
    std::vector<MutableArrayView> outputs;
  };
  // What lies on a device has a copy here, which is not the tensor; a splat has no elements to be written.
  static bool lies_here(const Tensor& tensor) {
    const TensorNode& node = *tensor.node();
    return !node.remote() && !node.literal().is_splat();
  }

  const std::shared_ptr<const Executable> executable_;
  std::vector<uint32_t> donor_;  // per output: the input whose place it may take
  mutable ObjectPool<Views> idle_;
};

}  // namespace

std::shared_ptr<Program> HostPlace::make(std::span<const PlacedGraph> graphs) const {
  const auto& [graph, pairs] = graphs[0];
  if (key.replicas) require_equal_updates(*graph);
  return std::make_shared<HostProgram>(
      espalier::compile(optimize(graph), {.world = key.world, .donations = {pairs.begin(), pairs.end()}}),
      pairs);
}

}  // namespace espalier
