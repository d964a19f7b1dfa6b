#include "runtime/collective_schedule.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/kernel.h"
#include "ops/collective.h"

namespace espalier {
namespace {

bool talks(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_collective(*node.op) ||
           std::ranges::any_of(graph.regions(node), [](const GraphPtr& region) { return talks(*region); });
  });
}

// It begins behind what its operands are made by, and behind all that a barrier on the way takes. False where
// another collective is among it.
bool wait_for_operands(const Graph& graph, const Units& units, const Node& node, SplitCollective& split) {
  std::vector<ValueId> open(graph.inputs(node).begin(), graph.inputs(node).end());
  std::vector<bool> seen(graph.nodes().size());
  while (!open.empty()) {
    const NodeId producer = graph.producer(open.back());
    open.pop_back();
    if (producer == kNone || seen[producer]) continue;
    seen[producer] = true;
    const Node& by = graph.node(producer);
    if (is_collective(*by.op)) return false;
    if (units.unit_of[producer] != kNone)
      split.begin = std::max(split.begin, units.unit_of[producer] + 1);
    else  // it moves nothing, or is a part of who reads it
      open.insert(open.end(), graph.inputs(by).begin(), graph.inputs(by).end());
  }
  return true;
}

}  // namespace

std::vector<SplitCollective> schedule_collectives(const Graph& graph, const Units& units,
                                                  const std::function<bool(ValueId, uint32_t)>& in_place) {
  const auto count = static_cast<uint32_t>(units.count());
  const auto first_node = [&](uint32_t unit) -> const Node& { return graph.node(units.nodes_of(unit)[0]); };
  std::vector<SplitCollective> splits;
  for (uint32_t unit = 0; unit < count; ++unit) {
    const Node& node = first_node(unit);
    const bool inside =
        std::ranges::any_of(graph.regions(node), [](const GraphPtr& region) { return talks(*region); });
    if (inside || (is_collective(*node.op) && !begins_apart(*node.op, node.input_count))) return {};
    if (is_collective(*node.op)) splits.push_back({.unit = unit, .begin = 0, .end = count});
  }
  if (splits.empty()) return {};
  std::unordered_map<ValueId, SplitCollective*> overwritten, results;
  for (SplitCollective& split : splits) {
    const Node& node = first_node(split.unit);
    if (!wait_for_operands(graph, units, node, split)) return {};
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const ValueId root = units.read_from(graph, node, i);
      if (in_place(root, split.unit)) overwritten.emplace(root, &split);
    }
    for (uint32_t i = 0; i < node.result_count; ++i) results.emplace(node.first_result + i, &split);
  }
  for (uint32_t unit = 0; unit < count; ++unit) {
    for_each_read(graph, units, unit, [&](ValueId root, bool) {
      if (const auto it = overwritten.find(root); it != overwritten.end() && it->second->unit != unit)
        it->second->begin = std::max(it->second->begin, unit + 1);
      if (const auto it = results.find(root); it != results.end())
        it->second->end = std::min(it->second->end, unit);
    });
  }
  std::ranges::sort(splits, {},
                    [](const SplitCollective& split) { return std::pair(split.begin, split.unit); });
  for (size_t i = splits.size() - 1; i-- > 0;) splits[i].end = std::min(splits[i].end, splits[i + 1].end);
  return splits;
}

}  // namespace espalier
