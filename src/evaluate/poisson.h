// Poisson's law with a whole mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier {

// The number that 32 random bits stand for: the inverse of the cumulated law, to 2^-32 of a chance.
class Poisson {
 public:
  explicit Poisson(int64_t mean);
  int64_t operator()(uint32_t bits) const {
    size_t place = guide_[bits >> kShift];
    while (bits >= ends_[place]) ++place;
    return first_ + static_cast<int64_t>(place);
  }

 private:
  static constexpr int kShift = 24;
  int64_t first_ = 0;
  std::vector<uint64_t> ends_;   // of the bits that stand for first_ + i
  std::vector<uint32_t> guide_;  // by the uppermost bits, the first place that may be meant
};

}  // namespace espalier
