#include "passes/inline_composites.h"

#include "passes/pass.h"

namespace espalier {

std::shared_ptr<Graph> inline_composites(const Graph& graph) {
  return inline_composites(graph, [](const Graph&, const Node&) { return false; });
}

std::shared_ptr<Graph> inline_composites(const Graph& graph,
                                         const std::function<bool(const Graph&, const Node&)>& keep) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op->composite && keep(graph, node)) {
      rewriter.copy(node);
      continue;
    }
    if (!node.op->composite) {
      rewriter.copy(node, rewrite_regions(graph, node, inline_composites));
      continue;
    }
    std::vector<TensorType> types;
    for (const ValueId input : graph.inputs(node)) types.push_back(graph.type(input));
    const auto parts =
        inline_composites(*decomposition(*node.op, node.attributes.get(), types, graph.regions(node)), keep);
    CallScope call(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope sink(rewriter.builder());
    const std::vector<Tensor> results = inline_graph(*parts, rewriter.mapped_inputs(node));
    for (uint32_t i = 0; i < node.result_count; ++i) rewriter.replace(node.first_result + i, results[i]);
  }
  return rewriter.finish();
}

}  // namespace espalier
