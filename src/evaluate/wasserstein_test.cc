// Intervals hold the true distance 19 times in 20 at least, and of moved laws are little wider than need be.
#include "evaluate/wasserstein.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"

namespace espalier {
namespace {

std::vector<double> drawn_normals(uint64_t seed, int rows, double shift, double step) {
  Philox random(seed, 0x3A55);
  std::vector<double> out;
  for (int i = 0; i < rows; ++i) {
    double sum = shift - 6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random.uniform());
    out.push_back(step > 0 ? std::floor(sum / step) * step : sum);
  }
  std::ranges::sort(out);
  return out;
}

TEST(Wasserstein, IntervalsHoldTheTruthNineteenTimesInTwentyAtLeast) {
  constexpr int kDraws = 200;
  for (const double shift : {0.0, 0.25, 1.0}) {
    for (const double step : {0.0, 0.25}) {  // whole steps move a law of steps by themselves
      int held = 0;
      double width = 0;
      for (uint64_t seed = 0; seed < kDraws; ++seed) {
        const Interval interval = wasserstein_interval(drawn_normals(2 * seed, 300, 0, step),
                                                       drawn_normals(2 * seed + 1, 200, shift, step));
        held += interval.low <= shift && shift <= interval.high;
        width += (interval.high - interval.low) / kDraws;
      }
      EXPECT_GE(held, 0.92 * kDraws) << shift << ", " << step;
      // A difference of means has an interval of 2 x 1.96 x sqrt(1/300 + 1/200).
      if (shift == 1) {
        EXPECT_LT(width, 1.15 * 2 * 1.96 * std::sqrt(1.0 / 300 + 1.0 / 200));
      }
    }
  }
}

TEST(Wasserstein, IntervalsOfOneUnitAreThoseOfAnother) {
  std::vector<double> a = drawn_normals(1, 500, 0, 0), b = drawn_normals(2, 700, 0.5, 0);
  const Interval one = wasserstein_interval(a, b), again = wasserstein_interval(a, b);
  EXPECT_EQ(one.low, again.low);
  for (double& value : a) value *= 1000;
  for (double& value : b) value *= 1000;
  const Interval thousand = wasserstein_interval(a, b);
  EXPECT_NEAR(thousand.low, 1000 * one.low, 1e-6);
  EXPECT_NEAR(thousand.high, 1000 * one.high, 1e-6);
}

TEST(Wasserstein, AnOutlierIsNotSpreadOverItsNeighbours) {
  std::vector<double> a = drawn_normals(1, 1000, 0, 0), b = drawn_normals(2, 1000, 0, 0);
  b.back() = 5000;
  const Interval interval = wasserstein_interval(a, b);
  EXPECT_NEAR(wasserstein(a, b), 5, 0.3);  // one in a thousand, carried by 5,000
  EXPECT_LT(interval.high, 20);            // of one such row Poisson's law has 3 at most, 19 times in 20
}

TEST(Wasserstein, OfOneValueIsZero) {
  const std::vector<double> a(50, 3.0), b(70, 3.0);
  const Interval interval = wasserstein_interval(a, b);
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 0);
}

}  // namespace
}  // namespace espalier
