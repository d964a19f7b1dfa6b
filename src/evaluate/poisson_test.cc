#include "evaluate/poisson.h"

#include <cmath>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// How many of the 2^32 bits stand for at most k, by bisection: the numbers ascend with the bits.
double cumulated(const Poisson& law, int64_t k) {
  uint64_t low = 0, high = uint64_t{1} << 32;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (law(static_cast<uint32_t>(middle)) <= k)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<double>(low) * 0x1p-32;
}

TEST(Poisson, EachNumberHasItsChance) {
  for (const int64_t mean : {1, 2, 7, 40, 1000, 250000}) {
    const Poisson law(mean);
    const double lambda = static_cast<double>(mean), root = std::sqrt(lambda);
    const auto first = std::max<int64_t>(0, mean - static_cast<int64_t>(6 * root));
    double sum = 0;
    for (int64_t k = 0; k <= mean + 6 * static_cast<int64_t>(root) + 6; ++k) {
      const auto x = static_cast<double>(k);
      sum += std::exp(x * std::log(lambda) - lambda - std::lgamma(x + 1));
      if (k >= first && (k - first) % std::max<int64_t>(1, static_cast<int64_t>(root) / 8) == 0) {
        EXPECT_NEAR(cumulated(law, k), sum, 1e-8) << mean << " " << k;
      }
    }
  }
}

TEST(Poisson, OfNoRowsIsNone) {
  const Poisson law(0);
  for (const uint32_t bits : {0u, 1u, 1u << 31, ~0u}) EXPECT_EQ(law(bits), 0);
}

}  // namespace
}  // namespace espalier
