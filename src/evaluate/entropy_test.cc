// Entropies follow their formulas, and part into what lies between groups and within them.
#include "evaluate/entropy.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "evaluate/counted_test.h"

namespace espalier {
namespace {

// Benefits 0, 1, 1, 2 and 0, 2 by the formulas of Speicher et al.
TEST(Entropy, FollowsItsFormula) {
  const Confusion c = counted(1, 1, 1, 1);
  EXPECT_NEAR(generalised_entropy(c).value(), (1 + 0 + 0 + 1) / 8.0, 1e-15);
  EXPECT_NEAR(generalised_entropy(c, 1).value(), 2 * std::log(2) / 4, 1e-15);
  EXPECT_NEAR(generalised_entropy(counted(2, 1, 1, 0), 0).value(), -(3 * std::log(0.8) + std::log(1.6)) / 4,
              1e-15);
  EXPECT_EQ(generalised_entropy(counted(5, 0, 3, 0)), 0.0);
  EXPECT_FALSE(generalised_entropy(c, 0)) << "infinite";
  EXPECT_FALSE(generalised_entropy(counted(0, 0, 0, 4))) << "no benefit";
  EXPECT_FALSE(generalised_entropy({}));
}

// All of it is what lies between the groups, and what lies within them.
TEST(Entropy, PartsIntoBetweenAndWithin) {
  const std::vector<Confusion> groups{counted(3, 2, 4, 5), counted(1, 6, 2, 1)};
  Confusion all = groups[0];
  all += groups[1];
  for (const double alpha : {1.0, 2.0, 3.0}) {
    double within = 0;
    for (const Confusion& group : groups) {
      const auto mean = [](const Confusion& c) {
        return (c.all().weight + c[kFalsePositive].weight - c[kFalseNegative].weight) / c.all().weight;
      };
      within += group.all().weight / all.all().weight * std::pow(mean(group) / mean(all), alpha) *
                generalised_entropy(group, alpha).value();
    }
    EXPECT_NEAR(generalised_entropy(all, alpha).value(),
                generalised_entropy_between(groups, alpha).value() + within, 1e-15);
  }
}

}  // namespace
}  // namespace espalier
