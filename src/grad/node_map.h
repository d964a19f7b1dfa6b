// Numbers by tensor: what reverse mode asks for every operand of every call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/blocks.h"
#include "ir/sink.h"

namespace espalier {

class NodeMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find(const Tensor& tensor) const {
    return slots_.empty() ? kNone : slots_[slot_of(tensor.node().get())].number;
  }
  bool contains(const Tensor& tensor) const { return find(tensor) != kNone; }
  // False, and nothing changes, when the tensor has a number. REQUIRES: it outlives the map; not kNone.
  bool insert(const Tensor& tensor, uint32_t number) {
    reserve(size_ + 1);
    Slot& slot = slots_[slot_of(tensor.node().get())];
    if (slot.number != kNone) return false;
    slot = {tensor.node().get(), number};
    ++size_;
    return true;
  }
  // Room for `count` tensors.
  void reserve(size_t count);
  size_t size() const { return size_; }
  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  struct Slot {
    const TensorNode* node = nullptr;
    uint32_t number = kNone;
  };
  // Where the node is, or would be.
  size_t slot_of(const TensorNode* node) const {
    const size_t mask = slots_.size() - 1;
    size_t i = (reinterpret_cast<uintptr_t>(node) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots_[i].node && slots_[i].node != node) i = (i + 1) & mask;
    return i;
  }
  std::vector<Slot, BlockAllocator<Slot>> slots_;  // a power of two, at least twice as many as are taken
  size_t size_ = 0;
};

}  // namespace espalier
