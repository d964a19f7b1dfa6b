#include "runtime/memory.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr uint64_t kAlignment = 64;
uint64_t rounded(uint64_t bytes) {
  return std::max<uint64_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
}

}  // namespace

void ArenaAllocator::insert(uint64_t offset, uint64_t size) {
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void ArenaAllocator::erase(std::map<uint64_t, uint64_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  by_offset_.erase(range);
}

uint64_t ArenaAllocator::allocate(uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  if (const auto best = by_size_.lower_bound({size, 0}); best != by_size_.end()) {
    const auto [range, offset] = *best;
    erase(by_offset_.find(offset));
    if (range > size) insert(offset + size, range - size);
    return offset;
  }
  uint64_t offset = extent_;
  if (!by_offset_.empty()) {
    const auto last = std::prev(by_offset_.end());
    if (last->first + last->second == extent_) {
      offset = last->first;
      erase(last);
    }
  }
  extent_ = offset + size;
  return offset;
}

void ArenaAllocator::free(uint64_t offset, uint64_t bytes) {
  uint64_t size = rounded(bytes);
  if (const auto next = by_offset_.find(offset + size); next != by_offset_.end()) {
    size += next->second;
    erase(next);
  }
  if (const auto after = by_offset_.lower_bound(offset); after != by_offset_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      erase(before);
    }
  }
  insert(offset, size);
}

void check_live_ranges(std::span<const LiveRange> ranges) {
  std::vector<const LiveRange*> order;
  for (const LiveRange& range : ranges) {
    if (range.size) order.push_back(&range);
  }
  // Stable: a value may be taken over within its own step.
  std::stable_sort(order.begin(), order.end(),
                   [](const LiveRange* a, const LiveRange* b) { return a->first < b->first; });
  const auto later = [](const LiveRange* a, const LiveRange* b) {
    return std::pair(a->last, a) < std::pair(b->last, b);
  };
  std::set<const LiveRange*, decltype(later)> ending(later);
  std::map<uint64_t, const LiveRange*> active;
  const auto retire = [&](const LiveRange* range) {
    ending.erase(range);
    active.erase(range->offset);
  };
  for (const LiveRange* range : order) {
    while (!ending.empty() && (*ending.begin())->last < range->first) retire(*ending.begin());
    auto it = active.upper_bound(range->offset);
    if (it != active.begin()) --it;
    while (it != active.end() && it->first < range->offset + range->size) {
      const LiveRange* other = (it++)->second;
      if (other->offset + other->size <= range->offset) continue;
      if (range->in_place && other->offset == range->offset && other->last == range->first) {
        retire(other);
        continue;
      }
      throw InternalError(cat("two values share arena bytes: [", range->offset, ", ",
                              range->offset + range->size, ") in steps ", range->first, " to ", range->last,
                              " and [", other->offset, ", ", other->offset + other->size, ") in steps ",
                              other->first, " to ", other->last));
    }
    active.emplace(range->offset, range);
    ending.insert(range);
  }
}

}  // namespace espalier
