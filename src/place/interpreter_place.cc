#include "place/interpreter_place.h"

#include <vector>

#include "interp/interpreter.h"
#include "place/shares.h"

namespace espalier {
namespace {

class InterpretedProgram final : public Program {
 public:
  InterpretedProgram(GraphPtr graph, size_t replicas) : graph_(std::move(graph)), replicas_(replicas) {}

  void call(std::span<const Tensor* const> inputs, std::span<const char>, std::span<Tensor> outputs,
            const RunContext&) const override {
    const size_t takes = graph_->inputs().size(), gives = graph_->outputs().size();
    GridValues values(replicas_, {{}});
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i]->bytes();  // refuses what a function traces
      values[i / takes][0].push_back(inputs[i]->node()->dense());
    }
    GridValues results = interpret_grid(*graph_, values);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool update = graph_->outputs()[i % gives].kind == OutputKind::kUpdate;
      // New values are the same on all.
      if (!update || i < gives) outputs[i] = make_concrete(std::move(results[i / gives][0][i % gives]));
    }
  }

 private:
  const GraphPtr graph_;
  const size_t replicas_;
};

}  // namespace

std::shared_ptr<Program> InterpreterPlace::make(std::span<const PlacedGraph> graphs) const {
  require_equal_arguments(graphs, graphs.size());
  require_equal_updates(*graphs[0].graph);
  return std::make_shared<InterpretedProgram>(graphs[0].graph, graphs.size());
}

}  // namespace espalier
