// A graph cut at some of its nodes into graphs that run one after another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace espalier {

// Nodes of a graph, and which of its values they take from outside and give there.
struct GraphPiece {
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs, outputs;
  bool of_parts = false;  // there is one for each part of a batch
};

// Nodes at which a graph is cut, and between them stages: each cut takes what stages before it give. Values
// of no operand are made where they are needed, broadcasts, too, and cross no cut.
struct CutGraph {
  std::vector<GraphPiece>
      stages;                    // the last one, perhaps without nodes, is behind all others, and of no part
  std::vector<GraphPiece> cuts;  // one node each, in the order of the graph
  std::vector<size_t> behind;    // of each cut: how many stages run before it
};

struct CutOptions {
  // The inputs that each part of a batch has of its own; empty: none. What depends on them but by way of a
  // cut is in stages of parts, behind a stage of what they need of the rest.
  std::vector<bool> of_parts = {};
  // What depends on none of them is computed in each stage that needs it, stages of parts, too, and crosses
  // no cut.
  bool remakes_shared = false;
};
CutGraph cut_graph(const Graph& graph, const std::function<bool(const Node&)>& is_cut,
                   const CutOptions& options = {});

// A graph of its own: these nodes, and others that the outputs need and the inputs do not give.
std::shared_ptr<Graph> graph_of(const Graph& graph, const std::string& name, std::span<const NodeId> nodes,
                                std::span<const GraphInput> inputs, std::span<const GraphOutput> outputs);
// That of a piece, whose inputs and outputs are called "v" and the number of the value.
std::shared_ptr<Graph> graph_of(const Graph& graph, const GraphPiece& piece, const std::string& name);

}  // namespace espalier
