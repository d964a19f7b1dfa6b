#include "fairness/estimate_gaps.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "espalier/error.h"
#include "evaluate/estimates_test.h"
#include "evaluate/regression.h"

namespace espalier {
namespace {

// Predictions that are off by more in some groups than in others.
struct AssessedNumbers {
  std::vector<double> predictions, truths;
  CategoryColumn group{"group", {"a", "b", "c", "thin"}, {}};
  Assessment assessment;

  explicit AssessedNumbers(const std::vector<double>& deviations, uint64_t seed = 1) {
    Philox random(seed);
    for (uint32_t code = 0; code < deviations.size(); ++code) {
      for (size_t i = 0; i < (code == 3 ? 10 : 200); ++i) {
        truths.push_back(5 * normal_number(random));
        predictions.push_back(truths.back() + deviations[code] * normal_number(random));
        group.codes.push_back(code);
      }
    }
    assessment = assess_any(NumberRows(predictions, truths), {{&group}}, {.slices = {.min_rows = 30}});
  }
  EstimateGap gap(const std::string& metric, const AssessmentView& view = {}) const {
    const EstimateGapTables tables = estimate_gaps(assessment, view);
    return *std::ranges::find(tables.of.at(0).of, metric, &EstimateGap::metric);
  }
};

TEST(EstimateGaps, AreBetweenTheLowestAndTheHighestThatAreNotThin) {
  const AssessedNumbers given({1, 4, 2, 40});
  const std::vector<SliceFigures>& slices = given.assessment.by[0].slices;
  const SliceMetric mae("mae");
  const double low = *mae(slices[0], 0).value, high = *mae(slices[1], 0).value;
  const EstimateGap gap = given.gap("mae");
  EXPECT_EQ(gap.low, &slices[0]);
  EXPECT_EQ(gap.high, &slices[1]);
  EXPECT_DOUBLE_EQ(*gap.difference, high - low);
  EXPECT_DOUBLE_EQ(*gap.ratio, low / high);
  EXPECT_LT(gap.interval->low, high - low);
  EXPECT_GT(gap.interval->low, 0);
  EXPECT_LT(gap.by_chance->p, 0.01);
  EXPECT_GE(*gap.adjusted_p, gap.by_chance->p);
  // Against c the group b is furthest; then a difference is b - c.
  const EstimateGap against = given.gap("mae", {.references = {{"group", 2}}});
  EXPECT_EQ(against.low, &slices[2]);
  EXPECT_DOUBLE_EQ(*against.difference, high - *mae(slices[2], 0).value);
  const EstimateGap below = given.gap("mae", {.references = {{"group", 1}}});
  EXPECT_DOUBLE_EQ(*below.difference, low - high);
  EXPECT_DOUBLE_EQ(*below.ratio, low / high);
  EXPECT_NEAR(below.interval->low, -gap.interval->high, 1e-12);
}

TEST(EstimateGaps, AValueThatIsUndefinedHasNoGap) {
  AssessedNumbers given({1, 1});
  Estimate& mae = given.assessment.by[0].slices[1].estimates[0];
  ASSERT_EQ(mae.metric, "mae");
  mae.value.reset();
  EXPECT_EQ(given.gap("mae").undefined, &given.assessment.by[0].slices[1]);
  EXPECT_FALSE(given.gap("mae").difference);
}

// The range of two equal normal errors is that of |N(0, 2)|.
TEST(EstimateGaps, ByChanceIsTheLawOfNormalErrors) {
  const std::vector<Estimate> two(2, Estimate{.metric = "mae", .value = 1, .variance = 1});
  const Permuting many{.least = 100000};
  const ByChance got = by_chance(two, std::sqrt(2) * normal_width(0.95), {}, many).value();
  EXPECT_NEAR(got.expected, 2 / std::sqrt(std::numbers::pi), 0.01);
  EXPECT_NEAR(got.p, 0.05, 0.003);
  EXPECT_NEAR(by_chance(two, std::sqrt(2) * normal_width(0.95), 0, many)->p, 0.05, 0.003);
  const std::vector<Estimate> shares(
      2, Estimate{.metric = "x", .value = 0.5, .effective_rows = 0.25, .share = true});
  EXPECT_NEAR(by_chance(shares, std::sqrt(2) * normal_width(0.95), {}, many)->p, 0.05, 0.003);
  EXPECT_FALSE(by_chance({two[0]}, 1));
  EXPECT_FALSE(by_chance({two[0], Estimate{.metric = "mae", .value = 1}}, 1)) << "an error is unknown";
}

// Groups that do not differ are told apart as often as the test allows.
TEST(EstimateGaps, GroupsThatDoNotDifferAreSeldomToldApart) {
  int found = 0, falsely = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    falsely += AssessedNumbers({2, 2, 2}, seed).gap("mae").by_chance->p <= 0.05;
    found += AssessedNumbers({2, 2, 3}, seed).gap("mae").by_chance->p <= 0.05;
  }
  EXPECT_TRUE(6 <= falsely && falsely <= 25) << falsely;
  EXPECT_GE(found, 290);
}

}  // namespace
}  // namespace espalier
