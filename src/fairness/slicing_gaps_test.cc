#include "fairness/slicing_gaps.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "fairness/assessed_people_test.h"
#include "fairness/rare_slices.h"

namespace espalier {
namespace {

TEST(SlicingGaps, AreOfTheHighestAndTheLowestSliceThatIsNotThin) {
  const Assessment assessment = fold_rare(ScoredPeople().assessed()).assessment;
  const std::vector<SlicingGap> gaps =
      slicing_gaps(assessment, 1, {{"equalised_odds", 0.1}, {"accuracy_equality"}});
  ASSERT_EQ(gaps.size(), 5u * 3);
  for (const SlicingGap& gap : gaps) {
    const SliceMetric metric(gap.rate->name);
    std::vector<double> values;
    for (const SliceFigures& slice : gap.by->slices) {
      if (!slice.slice.thin && slice.slice.values[0] != "(rare)") values.push_back(*metric(slice, 1).value);
    }
    const auto [low, high] = std::ranges::minmax(values);
    EXPECT_EQ(gap.low, low) << gap.name();
    EXPECT_EQ(gap.high, high) << gap.name();
    EXPECT_EQ(*gap.gap.value, high - low) << gap.name();
    const Figure again = metric.difference(*gap.groups[gap.gap.high], *gap.groups[gap.gap.low], 1);
    EXPECT_NEAR(gap.interval->low, again.interval->low, 1e-12) << gap.name();
  }
  EXPECT_TRUE(std::ranges::is_sorted(gaps, {}, [](const SlicingGap& gap) {
    return std::pair(!gap.limit, -*gap.gap.value);
  })) << "limits of one size first, the largest gap before the others";
}

TEST(SlicingGaps, SayWhatTheyAreAgainstTheirLimits) {
  const Assessment assessment = ScoredPeople().assessed();
  const auto said = [&](double limit) {
    return slicing_gaps(
               {.options = assessment.options, .overall = assessment.overall, .by = {assessment.by[0]}}, 1,
               {{"demographic_parity", limit}})[0]
        .against_limit();
  };
  const SlicingGap gap = slicing_gaps(assessment, 1, {{"demographic_parity"}})[1];
  ASSERT_EQ(gap.name(), "selection rate by age");
  EXPECT_EQ(gap.against_limit(), "");
  EXPECT_EQ(gap.text(0.95).find(cat("gap 0.")), 0u) << gap.text(0.95);
  EXPECT_NE(gap.text(0.95).find(cat(", ", gap.sides(), " (95 % interval ")), std::string::npos);
  EXPECT_EQ(said(0.01), "over the limit 0.01");
  EXPECT_EQ(said(0.5), "within the limit 0.5");
  EXPECT_EQ(said(0.13), "over the limit 0.13, which the interval straddles");
  EXPECT_EQ(said(0.14), "within the limit 0.14, which the interval straddles");
}

TEST(SlicingGaps, ThereIsNoneOfOneSliceAlone) {
  const ScoredPeople people(50);
  const Assessment assessment = assess(people.rows(), {{&people.sex}}, {.slices = {.min_rows = 20}});
  const SlicingGap gap = slicing_gaps(assessment, 0, {{"demographic_parity", 0.1}})[0];
  EXPECT_FALSE(gap.gap.value);
  EXPECT_EQ(gap.text(0.95), "fewer than two slices to compare");
  EXPECT_EQ(gap.against_limit(), "");
  EXPECT_THROW(slicing_gaps(assessment, 0, {{"parity"}}), ValueError);
}

}  // namespace
}  // namespace espalier
