// Criteria of fairness: which rates must be alike in all groups.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fairness/gaps.h"

namespace espalier {

struct Criterion {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> rates;  // names of evaluate/rates.h
};
// demographic_parity, equal_opportunity, predictive_equality, equalised_odds, predictive_parity,
// conditional_use_accuracy_equality, accuracy_equality, treatment_equality.
const std::vector<Criterion>& criteria();
// By name or alias. Raises ValueError[fairness.criterion], with the nearest names.
const Criterion& criterion(std::string_view name);

// What the gaps of several rates are together.
enum class Fold {
  kWorst,     // the one of the largest distance(): Fairlearn's worst_case
  kMean,      // their mean, with signs: Fairlearn's mean, AIF360's average_odds_difference
  kMeanSize,  // the mean of their sizes: AIF360's average_abs_odds_difference; of ratios as kMean
};
struct CriterionGap {
  std::optional<double> value;  // none where one of the gaps has none
  std::vector<Gap> of_rates;    // in the order of the criterion's
};
// Raises as gap_of() of a rate.
CriterionGap gap_of(const Criterion& criterion, const Groups& groups, Measure measure = Measure::kDifference,
                    const Convention& convention = {}, Fold fold = Fold::kWorst);

// Whether the lowest selection rate is at least four fifths of the highest: a rule of thumb of the Uniform
// Guidelines on Employee Selection Procedures, 1978, and no proof of fairness. None where the ratio has none.
std::optional<bool> meets_four_fifths(const Groups& groups);

}  // namespace espalier
