// Blocks of memory for arrays. Small ones come and go by the thousand: what was freed on a thread is kept
// there by size. Large ones lie on huge pages where the kernel grants them.
#pragma once

#include <cstddef>
#include <new>

namespace espalier {

// At least `bytes`, aligned to 64. Null when there is no memory.
void* take_block(size_t bytes);
// REQUIRES: `bytes` as given to take_block; any thread.
void give_block(void* block, size_t bytes) noexcept;

// For shared_ptr and its kin.
template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) {}
  T* allocate(size_t count) {
    void* block = take_block(count * sizeof(T));
    if (!block) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t count) noexcept { give_block(block, count * sizeof(T)); }
  friend bool operator==(BlockAllocator, BlockAllocator) { return true; }
};

}  // namespace espalier
