// How much memory graphs take.
#pragma once

#include "ir/graph.h"

namespace espalier {

// About how many bytes, with regions and without what attributes hold of their own, as the elements of a
// constant.
inline size_t graph_bytes(const Graph& graph) {
  // A node with its attributes, its place in the source and its edges; a value with its type; a name.
  constexpr size_t kNode = sizeof(Node) + 96, kValue = 64, kName = 64;
  size_t out = sizeof(Graph) + graph.nodes().size() * kNode + graph.value_count() * kValue +
               (graph.inputs().size() + graph.outputs().size() + graph.scope_names().size()) * kName;
  for (const Node& node : graph.nodes())
    for (const GraphPtr& region : graph.regions(node)) out += graph_bytes(*region);
  return out;
}

}  // namespace espalier
