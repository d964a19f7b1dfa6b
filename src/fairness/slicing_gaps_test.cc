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

// The lowest and the highest of slices always lie apart.
TEST(SlicingGaps, SayWhatChanceAloneWouldGive) {
  const ScoredPeople people;
  CategoryColumn luck{"luck", {"a", "b", "c", "d"}, {}};
  for (size_t i = 0; i < people.scores.size(); ++i)
    luck.codes.push_back(static_cast<uint32_t>(i * 7919 / 3 % 4));
  const Assessment assessment = assess(people.rows(), {{&people.sex}, {&luck}}, {});
  const std::vector<SlicingGap> gaps =
      slicing_gaps(assessment, 0, {{"demographic_parity"}, {"equalised_odds"}});
  ASSERT_EQ(gaps.size(), 6u);
  size_t tests = 0;
  for (const SlicingGap& gap : gaps) {
    EXPECT_EQ(gap.by_chance.has_value(), gap.adjusted_p.has_value()) << gap.name();
    if (!gap.by_chance) continue;
    ++tests;
    EXPECT_GE(*gap.adjusted_p, gap.by_chance->p) << gap.name();
    EXPECT_GT(gap.by_chance->expected, 0) << gap.name();
    EXPECT_EQ(*gap.adjusted_p < 0.05, gap.by->name() == "sex") << gap.name() << " " << *gap.adjusted_p;
    for (const SlicingGap& other : gaps)
      EXPECT_FALSE(other.by == gap.by && other.criterion == gap.criterion &&
                   *other.gap.value > *gap.gap.value);
  }
  EXPECT_EQ(tests, 4u) << "one of the two rates of equalised odds";
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
