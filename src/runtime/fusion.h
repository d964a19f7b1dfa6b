// Which nodes of a graph run together, and in which order. A unit is one step of a plan: one node;
// elementwise nodes over the same number of elements, run tile by tile; or a product or pooling and
// elementwise nodes that follow it as its parts are done.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "kernels/kernel.h"

namespace espalier {

// How a fused node reads an operand: element i of the result reads element (i / inner) % period.
struct Access {
  ValueId value = kNone;  // the value in memory: reshapes and repeating broadcasts are looked through
  int64_t inner = 1, period = 0;
  bool direct = false;  // element i reads element i
};

enum class UnitKind : uint8_t { kNode, kTiles, kFollowed };

struct Units {
  // Per value: the one that it casts between f32 and bf16, or from f16 to f32, which some kernels read in its
  // place; kNone for most.
  std::vector<ValueId> cast_from;
  bool updates_in_place = false;  // what `updates` may say
  // Per value: the value whose bytes it has (itself, or what it reshapes).
  std::vector<ValueId> root;
  // Per node: its unit, or kNone (not needed, empty, a constant, or looked through).
  std::vector<uint32_t> unit_of;
  // Nodes of unit u: nodes[first_node[u]] to nodes[first_node[u + 1]].
  std::vector<NodeId> nodes;
  std::vector<uint32_t> first_node;
  std::vector<UnitKind> kinds;  // per unit

  size_t count() const { return kinds.size(); }
  std::span<const NodeId> nodes_of(uint32_t unit) const {
    return {nodes.data() + first_node[unit], first_node[unit + 1] - first_node[unit]};
  }
  // Its elementwise nodes that run tile by tile.
  std::span<const NodeId> tiled_nodes(uint32_t unit) const {
    const auto all = nodes_of(unit);
    return all.subspan(kinds[unit] == UnitKind::kTiles ? 0 : 1);
  }
  // What a node that runs by its own step reads for its operand `index`.
  ValueId read_from(const Graph& graph, const Node& node, size_t index) const;
  // Whether result `index` of the node begins as its operand `index` (updates_operand).
  bool updates(const Node& node, size_t index) const {
    return updates_in_place && updates_operand(*node.op, node.attributes.get(), index, node.input_count);
  }
  // Whether `unit` keeps the value of this node (or kNone) in registers until it is stored.
  bool in_registers(NodeId producer, uint32_t unit) const {
    return producer != kNone && unit_of[producer] == unit &&
           (kinds[unit] == UnitKind::kTiles || producer != nodes[first_node[unit]]);
  }
};

// `fuse` false: every elementwise node is a unit of its own. `casts`: kernels may cast their
// operands, and update them.
Units find_units(const Graph& graph, bool fuse, bool casts);

// How a node of a fused unit reads an operand of its.
Access access_of(const Graph& graph, const Units& units, ValueId operand, int64_t elements);

// Calls f(value, by_element) for each value that the unit reads from memory, each time it does; `by_element`:
// of a splat it reads its one element, as tiles do.
template <class F>
void for_each_read(const Graph& graph, const Units& units, uint32_t unit, F f) {
  const size_t whole = units.nodes_of(unit).size() - units.tiled_nodes(unit).size();
  for (size_t i = 0; i < units.nodes_of(unit).size(); ++i) {
    const Node& node = graph.node(units.nodes_of(unit)[i]);
    for (size_t k = 0; k < node.input_count; ++k) {
      if (i < whole) {
        f(units.read_from(graph, node, k), units.updates(node, k));
        continue;
      }
      const Access access =
          access_of(graph, units, graph.inputs(node)[k], graph.type(node.first_result).elements());
      if (!units.in_registers(graph.producer(access.value), unit)) f(access.value, true);
    }
  }
}

// Whether the node may fail when it runs, or what its regions run. It is a unit of its own.
bool may_fail(const Graph& graph, const Node& node);

// Limits of one fused unit: they bound the registers of its tile program.
inline constexpr size_t kMaxInstructions = 64;
inline constexpr size_t kMaxLoads = 64;

}  // namespace espalier
