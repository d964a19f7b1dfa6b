// Constants in the memory of a plan.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/plan.h"

namespace espalier {

struct ConstantLayout {
  Buffer small;  // of kConstantSlot: all that are laid out together
  uint64_t small_bytes = 0, large_bytes = 0;
  std::vector<Buffer> large;  // of the slots from kFirstFixedSlot on
  std::unordered_map<ValueId, Ref> places;

  // All elements of a value, or null: it is no constant of these, or empty.
  const void* elements(const Graph& graph, ValueId root) const;
};

// Of these values, which constant nodes make. Splats of equal bits share the bytes of the longest.
ConstantLayout lay_out_constants(const Graph& graph, std::span<const ValueId> constants);

}  // namespace espalier
