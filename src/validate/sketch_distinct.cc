#include "validate/sketch_distinct.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace espalier {
namespace {

// O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017): what registers say that
// are still 0, and those that can grow no more, as shares of all.
double of_zeros(double share) {
  if (share == 1) return std::numeric_limits<double>::infinity();
  double sum = share, last = 0;
  for (double times = 1; sum != last; times *= 2) {
    share *= share;
    last = sum;
    sum += share * times;
  }
  return sum;
}
double of_full(double share) {
  if (share == 0 || share == 1) return 0;
  double sum = 1 - share, last = 0;
  for (double times = 0.5; sum != last; times /= 2) {
    share = std::sqrt(share);
    last = sum;
    sum -= (1 - share) * (1 - share) * times;
  }
  return sum / 3;
}

}  // namespace

double DistinctHashes::error() { return 1.04 / std::sqrt(std::ldexp(1.0, kBits)); }

void DistinctHashes::merge(const DistinctHashes& other) {
  std::ranges::transform(registers_, other.registers_, registers_.begin(),
                         [](uint8_t mine, uint8_t theirs) { return std::max(mine, theirs); });
}

uint64_t DistinctHashes::estimate() const {
  std::array<double, kMost + 1> counts{};
  for (const uint8_t zeros : registers_) ++counts[zeros];
  const auto all = static_cast<double>(registers_.size());
  double sum = all * of_full(1 - counts[kMost] / all);
  for (int zeros = kMost - 1; zeros > 0; --zeros) sum = (sum + counts[static_cast<size_t>(zeros)]) / 2;
  sum += all * of_zeros(counts[0] / all);
  return static_cast<uint64_t>(std::llround(all * all / (2 * std::numbers::ln2 * sum)));
}

void DistinctHashes::write(SketchWriter& out) const {
  for (const uint8_t zeros : registers_) out.number(zeros);
}

void DistinctHashes::read(SketchReader& in) {
  for (uint8_t& zeros : registers_) {
    const uint64_t value = in.number();
    in.check(value <= kMost);
    zeros = static_cast<uint8_t>(value);
  }
}

}  // namespace espalier
