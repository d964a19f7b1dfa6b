// Which nodes of a graph run together. A unit is one step of a plan: one node, or elementwise nodes over the
// same number of elements, run tile by tile.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace espalier {

// How a fused node reads an operand: element i of the result reads element (i / inner) % period.
struct Access {
  ValueId value = kNone;  // the value in memory: reshapes and repeating broadcasts are looked through
  int64_t inner = 1, period = 0;
  bool direct = false;  // element i reads element i
};

struct Units {
  // Per value: the value whose bytes it has (itself, or what it reshapes).
  std::vector<ValueId> root;
  // Per node: its unit, or kNone (not needed, empty, a constant, or looked through).
  std::vector<uint32_t> unit_of;
  // Nodes of unit u: nodes[first_node[u]] to nodes[first_node[u + 1]].
  std::vector<NodeId> nodes;
  std::vector<uint32_t> first_node;
  std::vector<bool> fused;  // per unit

  size_t count() const { return fused.size(); }
  std::span<const NodeId> nodes_of(uint32_t unit) const {
    return {nodes.data() + first_node[unit], first_node[unit + 1] - first_node[unit]};
  }
};

// `fuse` false: every elementwise node is a unit of its own.
Units find_units(const Graph& graph, bool fuse);

// How a node of a fused unit reads an operand of its.
Access access_of(const Graph& graph, const Units& units, ValueId operand, int64_t elements);

// Limits of one fused unit: they bound the registers of its tile program.
inline constexpr size_t kMaxInstructions = 64;
inline constexpr size_t kMaxLoads = 64;

}  // namespace espalier
