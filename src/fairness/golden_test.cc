// Gaps of groups against the figures of tests/golden/fairness.py.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "evaluate/entropy.h"
#include "evaluate/golden_rows_test.h"
#include "fairness/criteria.h"

namespace espalier {
namespace {

using nlohmann::json;

constexpr double kGoldenBound = 1e-12;

TEST(FairnessGoldens, GapsAreFairlearns) {
  const GoldenRows data;
  const std::map<std::string, Measure> measures{{"difference", Measure::kDifference},
                                                {"ratio", Measure::kRatio}};
  const std::map<std::string, Against> methods{{"between_groups", Against::kEachOther},
                                               {"to_overall", Against::kOverall}};
  const std::map<std::string, Fold> folds{{"worst_case", Fold::kWorst}, {"mean", Fold::kMean}};
  for (const json& c : data.golden.at("fairlearn")) {
    const Positive positive = c.at("strict").get<bool>() ? Positive::kAbove : Positive::kFrom;
    const std::vector<Confusion> of_groups = data.of_groups(c.at("weights"), positive);
    const Groups groups{of_groups, data.of_all(c.at("weights"), positive)};
    for (const json& gap : c.at("gaps")) {
      Convention convention = kFairlearn;
      convention.against = methods.at(gap.at("method"));
      const Criterion& which = criterion(gap.at("criterion").get<std::string>());
      const Measure measure = measures.at(gap.at("measure"));
      const Fold fold = folds.at(gap.at("agg"));
      EXPECT_NEAR(gap_of(which, groups, measure, convention, fold).value.value(),
                  gap.at("value").get<double>(), kGoldenBound)
          << gap;
      // By our own convention a group without positives has no true positive rate.
      convention.zero_division = ZeroDivision::kUndefined;
      const CriterionGap ours = gap_of(which, groups, measure, convention, fold);
      EXPECT_EQ(ours.value.has_value(), which.name == "demographic_parity") << gap;
    }
  }
}

TEST(FairnessGoldens, GapsAreAif360s) {
  const GoldenRows data;
  std::vector<Confusion> of_groups = data.of_groups("weighted", Positive::kFrom);
  of_groups.pop_back();
  const Groups groups{of_groups, {}};
  const auto expect = [&](const char* name, const std::optional<double>& got) {
    EXPECT_NEAR(got.value(), data.golden.at("aif360").at(name).get<double>(), kGoldenBound) << name;
  };
  const auto of_criterion = [&](const char* name, Measure measure, Fold fold) {
    return gap_of(criterion(name), groups, measure, aif360(0), fold).value;
  };
  const auto of_rate = [&](const char* name, Measure measure) {
    return gap_of(rate(name), groups, measure, aif360(0)).value;
  };
  expect("statistical_parity_difference",
         of_criterion("statistical_parity", Measure::kDifference, Fold::kWorst));
  expect("disparate_impact", of_criterion("statistical_parity", Measure::kRatio, Fold::kWorst));
  expect("equal_opportunity_difference",
         of_criterion("equal_opportunity", Measure::kDifference, Fold::kWorst));
  expect("average_odds_difference", of_criterion("equalized_odds", Measure::kDifference, Fold::kMean));
  expect("average_abs_odds_difference",
         of_criterion("equalized_odds", Measure::kDifference, Fold::kMeanSize));
  expect("equalized_odds_difference",
         std::abs(of_criterion("equalized_odds", Measure::kDifference, Fold::kWorst).value()));
  expect("false_discovery_rate_difference", of_rate("fdr", Measure::kDifference));
  expect("false_omission_rate_difference", of_rate("for", Measure::kDifference));
  expect("false_positive_rate_ratio", of_rate("fpr", Measure::kRatio));
  expect("error_rate_difference", of_rate("error_rate", Measure::kDifference));
  expect("error_rate_ratio", of_rate("error_rate", Measure::kRatio));
}

// AIF360's indices leave the weights out.
TEST(FairnessGoldens, EntropiesAreAif360s) {
  const GoldenRows data;
  const std::vector<Confusion> of_groups = data.of_groups("plain", Positive::kFrom);
  std::vector<Confusion> halves{of_groups[0], of_groups[1]};
  halves[1] += of_groups[2];
  Confusion all = halves[0];
  all += halves[1];
  const auto expect = [&](const char* name, const std::optional<double>& got) {
    EXPECT_NEAR(got.value(), data.golden.at("aif360").at(name).get<double>(), kGoldenBound) << name;
  };
  expect("theil_index", generalised_entropy(all, 1));
  expect("generalized_entropy_index_2", generalised_entropy(all));
  expect("generalized_entropy_index_3", generalised_entropy(all, 3));
  expect("coefficient_of_variation", std::sqrt(2 * generalised_entropy(all).value()));
  expect("between_group_theil_index", generalised_entropy_between(halves, 1));
  expect("between_group_generalized_entropy_index_2", generalised_entropy_between(halves));
}

}  // namespace
}  // namespace espalier
