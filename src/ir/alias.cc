#include "ir/alias.h"

#include "ir/graph.h"

namespace espalier {

std::vector<Alias> updates_in_place(const Graph& graph) {
  std::vector<Alias> out;
  for (size_t output = 0; output < graph.outputs().size(); ++output) {
    const GraphOutput& update = graph.outputs()[output];
    if (update.kind != OutputKind::kUpdate) continue;
    for (size_t input = 0; input < graph.inputs().size(); ++input) {
      const GraphInput& old = graph.inputs()[input];
      if (old.kind != InputKind::kArgument && old.name == update.name &&
          graph.type(old.value) == graph.type(update.value))
        out.push_back({input, output});
    }
  }
  return out;
}

}  // namespace espalier
