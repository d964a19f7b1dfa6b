// Offsets in an arena for values that live from one step to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace espalier {

// Hands out the smallest free range that fits; freed neighbours merge. Offsets are multiples of 64.
class ArenaAllocator {
 public:
  uint64_t allocate(uint64_t bytes);
  void free(uint64_t offset, uint64_t bytes);
  // The bytes an arena needs for all that was allocated so far.
  uint64_t extent() const { return extent_; }

 private:
  void insert(uint64_t offset, uint64_t size);
  void erase(std::map<uint64_t, uint64_t>::iterator range);
  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, offset
  uint64_t extent_ = 0;
};

// Bytes [offset, offset + size) belong to one value from the step that writes it to the last that reads it.
struct LiveRange {
  uint64_t offset = 0, size = 0;
  uint32_t first = 0, last = 0;
  bool in_place = false;  // takes over the bytes of a value whose last step is this one's first
};

// Raises InternalError when two ranges share bytes at one step (a range taken over in place may begin where
// its predecessor ends).
void check_live_ranges(std::span<const LiveRange> ranges);

}  // namespace espalier
