// The index is its formula, and its interval holds the true one nineteen times in twenty.
#include "evaluate/stability.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"

namespace espalier {
namespace {

using Counts = std::vector<int64_t>;

// Half and half against a quarter and three quarters: (0.25 - 0.5) ln 0.5 + (0.75 - 0.5) ln 1.5.
TEST(Stability, TheIndexIsItsFormula) {
  const Counts a = {50, 50}, b = {25, 75};
  EXPECT_NEAR(stability_index(a, b), -0.25 * std::log(0.5) + 0.25 * std::log(1.5), 1e-12);
  EXPECT_NEAR(stability_index(a, b), stability_index(b, a), 1e-12);
  EXPECT_EQ(stability_index(a, a), 0);
}

TEST(Stability, IntervalsHaveNoSideAndNarrowWithRows) {
  const Counts a = {40, 60, 100}, b = {80, 70, 50};
  const Interval few = stability_interval(a, b).value(), other = stability_interval(b, a).value();
  EXPECT_NEAR(few.low, other.low, 1e-12);
  EXPECT_NEAR(few.high, other.high, 1e-12);
  const Interval many = stability_interval(Counts{4000, 6000, 10000}, Counts{8000, 7000, 5000}).value();
  const double index = stability_index(a, b);
  EXPECT_TRUE(few.low < many.low && many.low < index && index < many.high && many.high < few.high);
  EXPECT_NEAR((few.high - few.low) / (many.high - many.low), 10, 1);
}

TEST(Stability, OfThinBinsNoIntervalIsSaid) {
  EXPECT_FALSE(stability_interval(Counts{100, 0}, Counts{90, 10}));
  EXPECT_FALSE(stability_interval(Counts{100, 100}, Counts{196, 4}));
  EXPECT_FALSE(stability_interval(Counts{100}, Counts{100}));
  const Interval none = stability_interval(Counts{100, 100}, Counts{100, 100}).value();
  EXPECT_EQ(none.low, 0);
  EXPECT_GT(none.high, 0);
}

TEST(Stability, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  constexpr int kDraws = 1000;
  for (const double tilt : {0.0, 0.1, 0.5, 1.0}) {
    const auto weight = [&](size_t bin) { return std::exp(tilt * (static_cast<double>(bin) - 2) / 2); };
    double total = 0, truth = 0;
    for (size_t i = 0; i < 5; ++i) total += weight(i);
    for (size_t i = 0; i < 5; ++i) truth += (weight(i) / total - 0.2) * std::log(weight(i) / total / 0.2);
    int held = 0;
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      Philox random(seed, 0x57AB);
      Counts a(5), b(5);
      for (int i = 0; i < 400; ++i) ++a[random.below(5)];
      for (int i = 0; i < 600; ++i) {
        double left = static_cast<double>(random.uniform()) * total;
        size_t bin = 0;
        while (bin < 4 && left >= weight(bin)) left -= weight(bin++);
        ++b[bin];
      }
      const Interval interval = stability_interval(a, b).value();
      held += interval.low <= truth && truth <= interval.high;
    }
    EXPECT_GE(held, 930) << tilt;
    EXPECT_LE(held, 970) << tilt;
  }
}

}  // namespace
}  // namespace espalier
