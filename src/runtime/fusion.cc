#include "runtime/fusion.h"

#include <algorithm>
#include <numeric>

#include "ir/attribute_reader.h"
#include "ir/constant.h"
#include "kernels/kernels.h"
#include "ops/collective.h"
#include "ops/registry.h"

namespace espalier {
namespace {

bool is_barrier(const OpDef& op) {
  static const OpDef* const barrier = find_op("optimization_barrier");
  return &op == barrier;
}

// Period 0 when the broadcast has to be written out.
Access broadcast_access(const Graph& graph, const Node& node) {
  const TensorType &in = graph.type(graph.inputs(node)[0]), &out = graph.type(node.first_result);
  const auto found = repetition(in, out, read_dims(node.attributes.get(), "broadcast_dimensions"));
  if (!found) return {};
  return {kNone, found->inner, found->period, found->inner == 1 && found->period == out.elements()};
}

// A transposition that moves only axes of size one.
bool keeps_order(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(graph.inputs(node)[0]).shape;
  int64_t last = -1;
  for (const int64_t axis : read_dims(node.attributes.get(), "permutation")) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Whether what follows on its elements may run as its parts are done.
bool is_followed(const OpDef& op) {
  return &op == &op_dot_general || &op == &op_convolution || &op == &op_reduce_window ||
         &op == &op_select_and_scatter;
}

bool can_fuse(const Graph& graph, const Node& node) {
  if (node.op->fusion != Fusion::kElementwise || !node.op->eval || node.result_count != 1 ||
      node.region_count || node.op->fallible || node.input_count < 1 || node.input_count > 3) {
    return false;
  }
  const int64_t elements = graph.type(node.first_result).elements();
  bool wide = false;
  for (const ValueId input : graph.inputs(node)) {
    const int64_t count = graph.type(input).elements();
    if (count != elements && count != 1) return false;
    wide = wide || count == elements;
  }
  return wide;
}

// Nodes by unit, from unit_of.
void lay_out_nodes(Units& units) {
  units.first_node.assign(units.count() + 1, 0);
  for (const uint32_t unit : units.unit_of) {
    if (unit != kNone) ++units.first_node[unit + 1];
  }
  for (size_t u = 0; u < units.count(); ++u) units.first_node[u + 1] += units.first_node[u];
  units.nodes.resize(units.first_node.back());
  std::vector<uint32_t> next(units.first_node.begin(), units.first_node.end() - 1);
  for (NodeId id = 0; id < units.unit_of.size(); ++id) {
    if (units.unit_of[id] != kNone) units.nodes[next[units.unit_of[id]]++] = id;
  }
}

// What no step that may fail needs comes after the last of them: it may write where others read. What one of
// them needs comes before what the next one needs, so that a collective begins as soon as it can. Each part
// keeps its order.
void put_fences_first(const Graph& graph, Units& units) {
  const auto count = static_cast<uint32_t>(units.count());
  // The first fence, as a unit, that needs a unit; kNone: no one does.
  std::vector<uint32_t> needed_by(count, kNone);
  bool any = false;
  for (uint32_t unit = count; unit-- > 0;) {
    if (may_fail(graph, graph.node(units.nodes_of(unit)[0]))) {
      any = true;
      needed_by[unit] = std::min(needed_by[unit], unit);
    }
    if (needed_by[unit] == kNone) continue;
    for_each_read(graph, units, unit, [&](ValueId value, bool) {
      const NodeId producer = graph.producer(value);
      if (producer == kNone || units.unit_of[producer] == kNone) return;
      uint32_t& fence = needed_by[units.unit_of[producer]];
      fence = std::min(fence, needed_by[unit]);
    });
  }
  if (!any) return;
  std::vector<uint32_t> order(count), place(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](uint32_t unit) { return needed_by[unit]; });
  std::vector<UnitKind> kinds;
  for (const uint32_t unit : order) {
    place[unit] = static_cast<uint32_t>(kinds.size());
    kinds.push_back(units.kinds[unit]);
  }
  units.kinds = std::move(kinds);
  for (uint32_t& unit : units.unit_of) {
    if (unit != kNone) unit = place[unit];
  }
  lay_out_nodes(units);
}

}  // namespace

bool may_fail(const Graph& graph, const Node& node) {
  if (node.op->fallible) return true;
  for (const GraphPtr& region : graph.regions(node)) {
    for (const Node& inner : region->nodes()) {
      if (may_fail(*region, inner)) return true;
    }
  }
  return false;
}

ValueId Units::read_from(const Graph& graph, const Node& node, size_t index) const {
  const ValueId value = root[graph.inputs(node)[index]], from = cast_from[value];
  const bool casts = from != kNone && casts_operand(*node.op, index, graph.type(from).dtype,
                                                    graph.type(node.first_result).dtype);
  return casts ? from : value;
}

Access access_of(const Graph& graph, const Units& units, ValueId operand, int64_t elements) {
  const ValueId root = units.root[operand];
  const int64_t count = graph.type(root).elements();
  const NodeId producer = graph.producer(root);
  if (producer != kNone && graph.node(producer).op == &op_broadcast_in_dim && count == elements) {
    Access access = broadcast_access(graph, graph.node(producer));
    if (access.period > 0) {
      access.value = units.root[graph.inputs(graph.node(producer))[0]];
      return access;
    }
  }
  return {root, count == elements ? 1 : elements, count, count == elements};
}

Units find_units(const Graph& graph, bool fuse, bool casts) {
  static const OpDef* const op_convert = find_op("convert");
  const auto& nodes = graph.nodes();
  Units units;
  units.root.resize(graph.value_count());
  for (ValueId v = 0; v < graph.value_count(); ++v) units.root[v] = v;
  std::vector<bool> needed(nodes.size()), fusable(nodes.size()), alias(nodes.size());
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const Node& node = nodes[id];
    const bool moves_nothing = node.op == &op_reshape || is_barrier(*node.op) ||
                               (node.op == &op_broadcast_in_dim && broadcast_access(graph, node).direct) ||
                               (node.op == &op_transpose && keeps_order(graph, node));
    if (moves_nothing) {
      alias[id] = true;
      for (uint32_t i = 0; i < node.result_count; ++i)
        units.root[node.first_result + i] = units.root[graph.inputs(node)[i]];
    } else {
      fusable[id] = can_fuse(graph, node);
    }
  }

  // A cast is left to the kernels that read it.
  units.cast_from.assign(graph.value_count(), kNone);
  units.updates_in_place = casts;
  if (casts) {
    for (NodeId id = 0; id < nodes.size(); ++id) {
      const Node& node = nodes[id];
      if (node.op != op_convert) continue;
      const ValueId from = units.root[graph.inputs(node)[0]];
      const DType to = graph.type(node.first_result).dtype, memory = graph.type(from).dtype;
      const bool widens = to == DType::kF32 && (memory == DType::kBF16 || memory == DType::kF16);
      if (widens || (to == DType::kBF16 && memory == DType::kF32)) units.cast_from[node.first_result] = from;
    }
  }

  // Backward: what the outputs need, and which values must be in memory because something other than a fused
  // node reads them.
  std::vector<bool> used(graph.value_count()), in_memory(graph.value_count());
  for (const GraphOutput& output : graph.outputs())
    used[units.root[output.value]] = in_memory[units.root[output.value]] = true;
  for (NodeId id = static_cast<NodeId>(nodes.size()); id-- > 0;) {
    const Node& node = nodes[id];
    if (alias[id]) continue;
    needed[id] = is_collective(*node.op);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      const ValueId result = node.first_result + i;
      needed[id] = needed[id] || (used[result] && graph.type(result).elements() > 0);
    }
    if (!needed[id]) continue;
    for (size_t i = 0; i < node.input_count; ++i) {
      const ValueId read = fusable[id] ? units.root[graph.inputs(node)[i]] : units.read_from(graph, node, i);
      used[read] = true;
      if (!fusable[id]) in_memory[read] = true;
    }
  }

  // Forward: a fused node joins the latest unit among those it reads when that has its size; so units in the
  // order of their creation read only earlier ones. An update stays out of a followed unit: it would often
  // come before the last reading of its variable, which could not be overwritten then.
  std::vector<bool> update(graph.value_count());
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kUpdate) update[units.root[output.value]] = true;
  }
  constexpr int64_t kNoElements = -1;  // nothing joins
  struct Open {
    int64_t elements;
    uint32_t instructions, loads;
  };
  std::vector<Open> open;
  units.unit_of.assign(nodes.size(), kNone);
  std::vector<uint32_t> ready(graph.value_count(), kNone);  // per root: the unit that writes it
  const auto create = [&](UnitKind kind, int64_t elements) {
    open.push_back({elements, 0, 0});
    units.kinds.push_back(kind);
    return static_cast<uint32_t>(open.size() - 1);
  };
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const Node& node = nodes[id];
    if (!needed[id] || alias[id] || node.op == &op_constant) continue;
    if (!fusable[id]) {
      if (node.op == &op_broadcast_in_dim && !in_memory[node.first_result] &&
          broadcast_access(graph, node).period > 0) {
        continue;
      }
      units.unit_of[id] = create(
          UnitKind::kNode, is_followed(*node.op) ? graph.type(node.first_result).elements() : kNoElements);
    } else {
      const int64_t elements = graph.type(node.first_result).elements();
      uint32_t latest = kNone, loads = 0;
      bool direct = true;
      for (const ValueId input : graph.inputs(node)) {
        const Access access = access_of(graph, units, input, elements);
        const uint32_t unit = ready[access.value];
        if (unit != kNone && (latest == kNone || unit > latest)) {
          latest = unit;
          direct = access.direct;
        } else if (unit != kNone && unit == latest) {
          direct = direct && access.direct;
        }
      }
      for (const ValueId input : graph.inputs(node)) {
        const Access access = access_of(graph, units, input, elements);
        loads += !access.direct || latest == kNone || ready[access.value] != latest;
      }
      const bool join = fuse && latest != kNone && direct && open[latest].elements == elements &&
                        (units.kinds[latest] == UnitKind::kTiles || !update[node.first_result]) &&
                        open[latest].instructions < kMaxInstructions &&
                        open[latest].loads + loads <= kMaxLoads;
      const uint32_t unit = join ? latest : create(UnitKind::kTiles, elements);
      if (units.kinds[unit] == UnitKind::kNode) {
        units.kinds[unit] = UnitKind::kFollowed;
        ++open[unit].loads;  // what it follows
      }
      ++open[unit].instructions;
      open[unit].loads += loads;
      units.unit_of[id] = unit;
    }
    for (uint32_t i = 0; i < node.result_count; ++i) ready[node.first_result + i] = units.unit_of[id];
  }

  lay_out_nodes(units);
  put_fences_first(graph, units);
  return units;
}

}  // namespace espalier
