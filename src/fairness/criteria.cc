#include "fairness/criteria.h"

#include <algorithm>
#include <cmath>

#include "base/find_named.h"

namespace espalier {
namespace {

double folded(const std::vector<double>& gaps, Measure measure, Fold fold) {
  if (fold == Fold::kWorst)
    return std::ranges::max(gaps, {}, [&](double gap) { return distance(measure, gap); });
  double sum = 0;
  for (const double gap : gaps) sum += fold == Fold::kMeanSize ? std::abs(gap) : gap;
  return sum / static_cast<double>(gaps.size());
}

}  // namespace

const std::vector<Criterion>& criteria() {
  static const std::vector<Criterion> table{
      {"demographic_parity", {"statistical_parity", "impact_parity"}, {"selection_rate"}},
      {"equal_opportunity", {"equality_of_opportunity"}, {"true_positive_rate"}},
      {"predictive_equality", {}, {"false_positive_rate"}},
      {"equalised_odds", {"equalized_odds"}, {"true_positive_rate", "false_positive_rate"}},
      {"predictive_parity", {"outcome_test"}, {"positive_predictive_value"}},
      {"conditional_use_accuracy_equality", {}, {"positive_predictive_value", "negative_predictive_value"}},
      {"accuracy_equality", {"overall_accuracy_equality"}, {"accuracy"}},
      {"treatment_equality", {}, {"treatment_ratio"}},
  };
  return table;
}

const Criterion& criterion(std::string_view name) {
  return find_named("fairness.criterion", "criterion", name, criteria());
}

CriterionGap gap_of(const Criterion& criterion, const Groups& groups, Measure measure,
                    const Convention& convention, Fold fold) {
  CriterionGap out;
  std::vector<double> gaps;
  for (const std::string_view name : criterion.rates) {
    out.of_rates.push_back(gap_of(rate(name), groups, measure, convention));
    if (out.of_rates.back().value) gaps.push_back(*out.of_rates.back().value);
  }
  if (gaps.size() == criterion.rates.size()) out.value = folded(gaps, measure, fold);
  return out;
}

std::optional<bool> meets_four_fifths(const Groups& groups) {
  const std::optional<double> ratio = gap_of(rate("selection_rate"), groups, Measure::kRatio).value;
  if (!ratio) return std::nullopt;
  // A ratio of rounded rates may miss 0.8 by their rounding.
  return *ratio >= 0.8 - 1e-12;
}

}  // namespace espalier
