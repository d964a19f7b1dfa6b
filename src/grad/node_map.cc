#include "grad/node_map.h"

#include <algorithm>
#include <bit>

namespace espalier {

void NodeMap::reserve(size_t count) {
  constexpr size_t kFewest = 32;
  if (2 * count <= slots_.size()) return;
  std::vector<Slot, BlockAllocator<Slot>> before(std::max(kFewest, std::bit_ceil(2 * count)));
  slots_.swap(before);
  for (const Slot& slot : before) {
    if (slot.node) slots_[slot_of(slot.node)] = slot;
  }
}

}  // namespace espalier
