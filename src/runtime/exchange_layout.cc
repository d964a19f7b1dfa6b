#include "runtime/exchange_layout.h"

#include "kernels/kernel.h"
#include "ops/collective.h"
#include "passes/pass.h"

namespace espalier {

ExchangeLayout lay_out_exchange(const Graph& graph, const Units& units, const Uses& uses) {
  ExchangeLayout out;
  const auto count = static_cast<uint32_t>(units.count());
  std::unordered_map<ValueId, int> senders;
  for (uint32_t unit = 0; unit < count; ++unit) {
    const Node& node = graph.node(units.nodes_of(unit)[0]);
    for (uint32_t i = 0; i < node.input_count && is_collective(*node.op); ++i)
      ++senders[units.read_from(graph, node, i)];
  }
  for (uint32_t unit = 0; unit < count; ++unit) {
    const Node& node = graph.node(units.nodes_of(unit)[0]);
    if (!exchanges_in_place(*node.op)) continue;
    out.of_unit[unit] = out.bytes;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const ValueId root = units.read_from(graph, node, i);
      const bool computed = graph.producer(root) != kNone && !constant_of(graph, root);
      if (computed && uses.last[root] == unit && senders[root] == 1)
        out.of_value.try_emplace(root, out.bytes);
      out.of_value[node.first_result + i] = out.bytes;
      out.bytes += exchange_room(graph.type(root).bytes());
    }
  }
  return out;
}

}  // namespace espalier
