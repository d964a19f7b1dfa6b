#include "fairness/criteria.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/counted_test.h"

namespace espalier {
namespace {

// The example of Fairlearn's user guide, "Common fairness metrics".
TEST(Criteria, GiveTheFiguresOfFairlearnsGuide) {
  const std::vector<int> labels{0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const std::vector<int> said{0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0};
  const std::string_view of_group = "bbabbcccaacabccbcc";
  std::vector<Confusion> groups(3);
  for (size_t i = 0; i < labels.size(); ++i)
    groups[static_cast<size_t>(of_group[i] - 'a')][outcome_of(said[i] != 0, labels[i] != 0)].add(1);
  const Groups all{groups, {}};
  EXPECT_NEAR(gap_of(criterion("demographic_parity"), all).value.value(), 0.25, 1e-15);
  EXPECT_NEAR(gap_of(criterion("demographic_parity"), all, Measure::kRatio).value.value(), 2.0 / 3, 1e-15);
  EXPECT_EQ(gap_of(criterion("equalised_odds"), all).value, 1.0);
  EXPECT_EQ(gap_of(criterion("equalised_odds"), all, Measure::kRatio).value, 0.0);
  EXPECT_EQ(meets_four_fifths(all), false);
}

// Selection rates 0.2, 0.5, 0.4; true positive rates 0.5, 0.75, none.
const std::vector<Confusion> kOf{counted(1, 1, 7, 1), counted(3, 2, 4, 1), counted(0, 4, 6, 0)};
const Groups kGroups{kOf, counted(4, 7, 17, 2)};

TEST(Gaps, NameTheGroupsFurthestApart) {
  const Gap difference = gap_of(rate("selection_rate"), kGroups);
  EXPECT_NEAR(difference.value.value(), 0.3, 1e-15);
  EXPECT_EQ(difference.low, 0u);
  EXPECT_EQ(difference.high, 1u);
  const Gap to_overall =
      gap_of(rate("selection_rate"), kGroups, Measure::kRatio, {.against = Against::kOverall});
  EXPECT_NEAR(to_overall.value.value(), 0.2 / (11.0 / 30), 1e-15);
  EXPECT_EQ(to_overall.low, 0u);
  EXPECT_EQ(to_overall.high, Gap::kNoGroup);
}

TEST(Gaps, AgainstAReferenceHaveASign) {
  const auto against = [&](size_t reference, Measure measure) {
    return gap_of(rate("selection_rate"), kGroups, measure,
                  {.against = Against::kReference, .reference = reference});
  };
  EXPECT_NEAR(against(1, Measure::kDifference).value.value(), -0.3, 1e-15);
  EXPECT_NEAR(against(0, Measure::kDifference).value.value(), 0.3, 1e-15);
  EXPECT_NEAR(against(1, Measure::kRatio).value.value(), 0.4, 1e-15);
  EXPECT_NEAR(against(0, Measure::kRatio).value.value(), 2.5, 1e-15);
  EXPECT_EQ(against(0, Measure::kDifference).low, 0u);
  EXPECT_EQ(rule_of([&] { against(3, Measure::kRatio); }), "fairness.reference");
  // The rest as one: 6 of 20 are selected beside 5 of 10.
  EXPECT_NEAR(gap_of(rate("selection_rate"), kGroups, Measure::kDifference, aif360(1)).value.value(), -0.2,
              1e-15);
}

TEST(Gaps, AreUndefinedWhereARateIs) {
  const Gap gap = gap_of(rate("tpr"), kGroups);
  EXPECT_FALSE(gap.value);
  EXPECT_EQ(gap.undefined, std::vector<size_t>{2});
  EXPECT_FALSE(interval(gap, rate("tpr"), kGroups));
  EXPECT_EQ(gap_of(rate("tpr"), kGroups, Measure::kDifference, kFairlearn).value, 0.75);
  // Of two rates one suffices.
  const CriterionGap odds = gap_of(criterion("equalised_odds"), kGroups);
  EXPECT_FALSE(odds.value);
  EXPECT_TRUE(odds.of_rates[1].value);
  const std::vector<Confusion> one{kOf[0]}, none{counted(0, 0, 4, 1), counted(0, 0, 3, 1)};
  EXPECT_FALSE(gap_of(rate("tpr"), {one, one[0]}).value) << "nothing to compare";
  EXPECT_FALSE(gap_of(rate("tpr"), {one, one[0]}, Measure::kRatio, {.against = Against::kReference}).value);
  EXPECT_FALSE(gap_of(rate("tpr"), {{}, {}}, Measure::kRatio, {.against = Against::kOverall}).value);
  EXPECT_FALSE(gap_of(rate("selection_rate"), {none, {}}, Measure::kRatio).value) << "0 / 0";
  EXPECT_EQ(gap_of(rate("selection_rate"), {none, {}}).value, 0.0);
  EXPECT_FALSE(meets_four_fifths({none, {}}));
}

TEST(Gaps, HaveNewcombesInterval) {
  const std::vector<Confusion> of{counted(48, 0, 0, 32), counted(56, 0, 0, 14)};
  const Groups groups{of, {}};
  for (const Convention& convention :
       {Convention{}, Convention{.against = Against::kReference, .reference = 1}}) {
    const Gap gap = gap_of(rate("tpr"), groups, Measure::kDifference, convention);
    const Interval got = interval(gap, rate("tpr"), groups).value();
    EXPECT_NEAR(got.low, 0.0524, 5e-5);
    EXPECT_NEAR(got.high, 0.3339, 5e-5);
  }
  EXPECT_FALSE(interval(gap_of(rate("f1"), groups), rate("f1"), groups)) << "no proportion";
  const Gap of_rest = gap_of(rate("tpr"), groups, Measure::kDifference, aif360(0));
  EXPECT_FALSE(interval(of_rest, rate("tpr"), groups));
}

TEST(Criteria, FourFifthsIsEnough) {
  const auto meets = [](int of_ten_low, int of_ten_high) {
    const std::vector<Confusion> of{counted(of_ten_low, 0, 10 - of_ten_low, 0),
                                    counted(of_ten_high, 0, 10 - of_ten_high, 0)};
    return meets_four_fifths({of, {}}).value();
  };
  EXPECT_TRUE(meets(4, 5));
  EXPECT_TRUE(meets(8, 10));
  EXPECT_FALSE(meets(7, 9));
  // 56 / 70 of rates that round.
  const std::vector<Confusion> of{counted(56, 0, 44, 0), counted(70, 0, 30, 0)};
  EXPECT_TRUE(meets_four_fifths({of, {}}).value());
}

TEST(Criteria, HaveNamesAndRates) {
  std::set<std::string_view> names;
  size_t count = 0;
  for (const Criterion& one : criteria()) {
    names.insert(one.name);
    names.insert(one.aliases.begin(), one.aliases.end());
    count += 1 + one.aliases.size();
    EXPECT_FALSE(one.rates.empty());
    for (const std::string_view name : one.rates) EXPECT_EQ(rate(name).name, name);
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(rule_of([] { criterion("demographic"); }), "fairness.criterion");
}

}  // namespace
}  // namespace espalier
