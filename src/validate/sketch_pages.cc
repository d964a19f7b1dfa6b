#include "validate/sketch_pages.h"

#include <algorithm>

namespace espalier {

uint64_t* CountPages::make(uint64_t key) {
  const uint64_t page = key >> kBits;
  if (pages_.empty()) first_ = page;
  if (page < first_) {
    const uint64_t wanted = first_ - page, held = pages_.size();
    if (wanted > most_range_ - held) return nullptr;
    // More than that, lest keys that fall one by one move all pages each time.
    const uint64_t more = wanted + std::min({held, most_range_ - held - wanted, page});
    pages_.insert(pages_.begin(), more, 0);
    first_ -= more;
  }
  if (page - first_ >= most_range_) return nullptr;
  if (page - first_ >= pages_.size()) pages_.resize(page - first_ + 1, 0);
  uint16_t& held = pages_[page - first_];
  if (held == 0) {
    const size_t pages = counts_.size() >> kBits;
    if (pages > most_pages_) return nullptr;
    counts_.resize(counts_.size() + kMask + 1, 0);
    since_.resize(counts_.size(), 0);
    held = static_cast<uint16_t>(pages);
  }
  const size_t at = size_t{held} << kBits | (key & kMask);
  if (since_[at] > 0)
    settle(at);
  else
    since_[at] = 1;
  return &counts_[at];
}

}  // namespace espalier
