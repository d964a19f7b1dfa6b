#include "ops/collective.h"
#include "passes/pass.h"

namespace espalier {
namespace {

std::shared_ptr<Graph> run_dce(const Graph& graph) {
  std::vector<bool> live(graph.value_count());
  for (const GraphOutput& output : graph.outputs()) live[output.value] = true;
  std::vector<bool> needed(graph.nodes().size());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    // Other processes wait for it.
    needed[i] = is_collective(*node.op);
    for (uint32_t k = 0; k < node.result_count; ++k) needed[i] = needed[i] || live[node.first_result + k];
    if (!needed[i]) continue;
    for (const ValueId input : graph.inputs(node)) live[input] = true;
  }
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (needed[i]) rewriter.copy(graph.nodes()[i], rewrite_regions(graph, graph.nodes()[i], run_dce));
  }
  return rewriter.finish();
}

}  // namespace

const Pass pass_dce = {"dce", "drops nodes that no output needs", run_dce};

}  // namespace espalier
