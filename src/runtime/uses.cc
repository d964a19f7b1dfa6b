#include "runtime/uses.h"

#include <algorithm>

#include "passes/pass.h"

namespace espalier {

Donations find_donations(const Graph& graph, std::span<const Alias> pairs) {
  Donations out;
  out.output_of.assign(graph.inputs().size(), kNone);
  out.input_of.assign(graph.outputs().size(), kNone);
  for (const auto& [input, output] : pairs) {
    const TensorType &old = graph.type(graph.inputs().at(input).value),
                     &next = graph.type(graph.outputs().at(output).value);
    if (old != next) throw InternalError(cat(graph.name(), ": ", old, " is donated to ", next));
    if (out.output_of[input] != kNone || out.input_of[output] != kNone)
      throw InternalError(cat(graph.name(), ": input ", input, " or output ", output, " is donated twice"));
    out.output_of[input] = static_cast<uint32_t>(output);
    out.input_of[output] = static_cast<uint32_t>(input);
  }
  return out;
}

bool is_unchanged(const Graph& graph, const Units& units, const Donations& donations, uint32_t index) {
  const uint32_t input = donations.input_of[index];
  return input != kNone && units.root[graph.outputs()[index].value] == graph.inputs()[input].value;
}

Uses find_uses(const Graph& graph, const Units& units, const Donations& donations) {
  Uses out;
  out.last.assign(graph.value_count(), Uses::kNever);
  out.reads.resize(graph.value_count());
  const auto count = static_cast<uint32_t>(units.count());
  for (uint32_t unit = 0; unit < count; ++unit) {
    for_each_read(graph, units, unit, [&](ValueId root, bool by_element) {
      out.last[root] = unit;
      ++out.reads[root];
      const Literal* literal = constant_of(graph, root);
      if (!literal) return;
      if (by_element && is_one_element(*literal)) return;
      out.constants.push_back(root);
    });
  }
  for (uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const ValueId root = units.root[graph.outputs()[o].value];
    if (!is_unchanged(graph, units, donations, o)) out.last[root] = count;
    ++out.reads[root];
    if (constant_of(graph, root)) out.constants.push_back(root);
  }
  std::ranges::sort(out.constants);
  out.constants.erase(std::unique(out.constants.begin(), out.constants.end()), out.constants.end());
  return out;
}

}  // namespace espalier
