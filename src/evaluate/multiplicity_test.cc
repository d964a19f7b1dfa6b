#include "evaluate/multiplicity.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/philox.h"

namespace espalier {
namespace {

void expect_values(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-15) << i;
}

TEST(Multiplicity, HolmMultipliesByHowManyAreLeft) {
  const double p[] = {0.01, 0.04, 0.03, 0.005};
  expect_values(holm(p), {0.03, 0.06, 0.06, 0.02});
  const double large[] = {0.6, 0.7};
  expect_values(holm(large), {1, 1});
  EXPECT_TRUE(holm({}).empty());
}

// The example of the paper of 1995: at 5 % the first four of fifteen are rejected.
TEST(Multiplicity, BenjaminiAndHochbergsOwnExample) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const std::vector<double> adjusted = benjamini_hochberg(p);
  EXPECT_EQ(std::ranges::count_if(adjusted, [](double one) { return one <= 0.05; }), 4);
  EXPECT_NEAR(adjusted[0], 0.0015, 1e-15);
  EXPECT_NEAR(adjusted[3], 0.0095 * 15 / 4, 1e-15);
  EXPECT_EQ(adjusted[14], 1);
  const std::vector<double> few = holm(p);
  EXPECT_EQ(std::ranges::count_if(few, [](double one) { return one <= 0.05; }), 3);
}

// An adjusted value is the smallest level at which the procedure, step by step, rejects its test.
TEST(Multiplicity, AdjustedValuesAreTheLevelsOfRejection) {
  Philox random(3);
  for (int run = 0; run < 200; ++run) {
    std::vector<double> p;
    for (int i = 0; i < 6; ++i) p.push_back(static_cast<double>(random.uniform()) * 0.2);
    std::vector<double> sorted = p;
    std::ranges::sort(sorted);
    const double level = 0.05;
    double least_kept = 2, most_rejected = -1;
    for (size_t i = 0; i < 6 && least_kept > 1; ++i) {
      if (sorted[i] > level / static_cast<double>(6 - i)) least_kept = sorted[i];
    }
    for (size_t i = 0; i < 6; ++i) {
      if (sorted[i] <= level * static_cast<double>(i + 1) / 6) most_rejected = sorted[i];
    }
    const std::vector<double> by_holm = holm(p), by_rate = benjamini_hochberg(p);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(by_holm[i] <= level, p[i] < least_kept) << run;
      EXPECT_EQ(by_rate[i] <= level, p[i] <= most_rejected) << run;
    }
  }
}

}  // namespace
}  // namespace espalier
