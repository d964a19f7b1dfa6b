#include "runtime/decompose.h"

#include <algorithm>

#include "ir/builder.h"
#include "passes/pass.h"

namespace espalier {
namespace {

bool needs_body(const Node& node) { return !node.op->eval && node.op->decompose; }

bool has_bodiless(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return needs_body(node) || std::ranges::any_of(graph.regions(node), [](const GraphPtr& region) {
             return has_bodiless(*region);
           });
  });
}

std::shared_ptr<Graph> decompose_once(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (!needs_body(node)) {
      rewriter.copy(node, rewrite_regions(graph, node, decompose_once));
      continue;
    }
    CallScope at(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope scope(rewriter.builder());
    const std::vector<Tensor> inputs = rewriter.mapped_inputs(node);
    const auto results = node.op->decompose({node.attributes.get(), inputs, graph.regions(node)});
    for (uint32_t i = 0; i < node.result_count; ++i) rewriter.replace(node.first_result + i, results[i]);
  }
  return rewriter.finish();
}

}  // namespace

std::shared_ptr<const Graph> decompose_bodiless(std::shared_ptr<const Graph> graph) {
  while (has_bodiless(*graph)) graph = decompose_once(*graph);
  return graph;
}

}  // namespace espalier
