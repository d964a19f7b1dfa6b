#include "evaluate/poisson.h"

#include <algorithm>
#include <cmath>

namespace espalier {

Poisson::Poisson(int64_t mean) {
  constexpr double kLeast = 0x1p-40;  // of the largest chance
  const auto lambda = static_cast<double>(mean);
  std::vector<double> below, from;
  double chance = 1;
  for (int64_t k = mean; k > 0 && chance > kLeast; --k) {
    chance *= static_cast<double>(k) / lambda;
    below.push_back(chance);
  }
  chance = 1;
  for (int64_t k = mean; chance > kLeast; ++k) {
    from.push_back(chance);
    chance *= lambda / static_cast<double>(k + 1);
  }
  first_ = mean - std::ssize(below);
  std::ranges::reverse(below);
  below.insert(below.end(), from.begin(), from.end());
  double total = 0, sum = 0;
  for (const double one : below) total += one;
  for (const double one : below) {
    sum += one;
    ends_.push_back(static_cast<uint64_t>(std::round(sum / total * 0x1p32)));
  }
  ends_.back() = uint64_t{1} << 32;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += uint64_t{1} << kShift)
    guide_.push_back(static_cast<uint32_t>(std::ranges::upper_bound(ends_, bits) - ends_.begin()));
}

}  // namespace espalier
