// Counts by keys that lie close together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier {

// Counts of the keys of a range in pages of neighbours, without those pages that hold none: a few reads find
// a count, and all counts in use stay near each other.
class CountPages {
 public:
  // As many pages in its range, and as many that hold counts, at most 65,535.
  CountPages(size_t most_range, size_t most_pages) : most_range_(most_range), most_pages_(most_pages) {}

  // The keys that may have counts now: places are those in this range.
  uint64_t first_key() const { return first_ << kBits; }
  uint64_t keys() const { return pages_.size() << kBits; }
  // Counts the keys at these places up to the first that has no count; how many these are. A place behind the
  // last key is one without.
  size_t count_known(std::span<const uint32_t> places) {
    const uint64_t range = keys();
    const uint16_t* const pages = pages_.data();
    uint8_t* const since = since_.data();
    for (size_t i = 0; i < places.size(); ++i) {
      const uint32_t place = places[i];
      if (place >= range) return i;
      const size_t at = size_t{pages[place >> kBits]} << kBits | (place & kMask);
      // Rarely: it is 0, or the most.
      if (static_cast<uint8_t>(since[at] - 1) >= kMostSince) {
        if (since[at] == 0) return i;
        settle(at);
      }
      ++since[at];
    }
    return places.size();
  }
  // The count of a key, 0 of a new one, for which there is room now; null where that would be too many pages,
  // or too far apart. REQUIRES: it does not stay 0.
  uint64_t* make(uint64_t key);
  // Calls f of each key that has a count, and the count, in order of the keys.
  template <class F>
  void for_each(const F& f) const {
    for (size_t page = 0; page < pages_.size(); ++page) {
      const size_t from = size_t{pages_[page]} << kBits;
      for (size_t i = 0; pages_[page] > 0 && i <= kMask; ++i) {
        if (since_[from | i] > 0) f((first_ + page) << kBits | i, counts_[from | i] + since_[from | i] - 1);
      }
    }
  }

 private:
  static constexpr int kBits = 5;
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  static constexpr uint8_t kMostSince = 0xfe;

  // Adds what was counted since to the count.
  void settle(size_t at) {
    counts_[at] += since_[at] - 1;
    since_[at] = 1;
  }

  size_t most_range_, most_pages_;
  uint64_t first_ = 0;           // page of the range
  std::vector<uint16_t> pages_;  // of the range; 0: none, whose counts stay 0
  // How often keys were counted since they were made, or settled, and one more, 0 without a count: so few
  // bytes of each stay at hand. And what they were counted before.
  std::vector<uint8_t> since_ = std::vector<uint8_t>(kMask + 1);
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kMask + 1);
};

}  // namespace espalier
