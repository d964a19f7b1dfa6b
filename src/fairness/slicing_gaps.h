// How far the slices of an assessment lie apart, in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fairness/assessment.h"
#include "fairness/criteria.h"
#include "fairness/permutation.h"

namespace espalier {

struct CriterionLimit {
  std::string criterion;
  std::optional<double> limit = {};  // of the difference between the highest and the lowest slice
};

// Between the slices of a slicing, in one of a criterion's rates.
struct SlicingGap {
  const SlicingFigures* by;  // the assessment's
  const Criterion* criterion;
  const Rate* rate;
  std::optional<double> limit = {};
  std::vector<const SliceFigures*> groups = {};  // that are compared: `gap` has their places
  Gap gap = {};
  std::optional<Interval> interval = {};
  double low = 0, high = 0;  // the rates, where the gap has a value
  // Of the rate of the criterion that lies furthest apart: what it would be where rows are dealt to slices at
  // random, and how often as large, by itself and adjusted for all of them.
  std::optional<ByChance> by_chance = {};
  std::optional<double> adjusted_p = {};

  std::string name() const;              // "true positive rate by sex"
  std::string sides() const;             // "Female 0.142 to Male 0.341"
  std::string text(double level) const;  // "gap 0.199, Female ... (95 % interval 0.138 to 0.251)"
  std::string against_limit() const;     // "over the limit 0.1, which the interval straddles", or ""
};
// Of each slicing, criterion and rate, at one of the assessment's thresholds: first by how far they are over
// their limits, then those without a limit by size, then those without a value. Thin slices and folded ones
// are not compared. Raises ValueError[fairness.criterion].
std::vector<SlicingGap> slicing_gaps(const Assessment& assessment, size_t threshold,
                                     const std::vector<CriterionLimit>& asked);

// "true positive rate".
std::string words(std::string_view name);
// Its values: "Female, [25,45)".
std::string label(const RowSlice& slice);

}  // namespace espalier
