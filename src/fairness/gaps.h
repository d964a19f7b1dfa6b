// How far groups of rows lie apart in a rate.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/intervals.h"
#include "evaluate/rates.h"

namespace espalier {

// Groups that share no row, and all rows: also those of no group.
struct Groups {
  std::span<const Confusion> of;
  Confusion overall;
};

enum class Against {
  kEachOther,  // the lowest group with the highest: Fairlearn's between_groups
  kOverall,    // each group with all rows: Fairlearn's to_overall
  kReference,  // each group with one of them: Aequitas, Fairness Indicators
  kRest,       // all other groups as one with one of them: AIF360, whose privileged group that is
};
// What a rate is that divides by 0.
enum class ZeroDivision {
  kUndefined,  // nothing, and so are its gaps
  kZero,       // 0: Fairlearn
};
struct Convention {
  Against against = Against::kEachOther;
  size_t reference = 0;  // the group of kReference and kRest
  ZeroDivision zero_division = ZeroDivision::kUndefined;
};
inline constexpr Convention kFairlearn{.zero_division = ZeroDivision::kZero};
constexpr Convention aif360(size_t privileged) {
  return {.against = Against::kRest, .reference = privileged};
}

enum class Measure {
  kDifference,  // higher - lower; of kReference and kRest group - reference
  kRatio,       // lower / higher; of kReference and kRest group / reference
};
// How far a value is from that of equal rates: |difference|, 1 - ratio or of a ratio above 1 its inverse.
double distance(Measure measure, double value);

struct Gap {
  static constexpr size_t kNoGroup = static_cast<size_t>(-1);  // the overall, or the rest

  // None where a rate is undefined, where there is nothing to compare, and of a ratio to 0.
  std::optional<double> value = {};
  // The groups furthest apart.
  size_t low = kNoGroup, high = kNoGroup;
  // The groups whose rate is undefined, or kNoGroup for the rest.
  std::vector<size_t> undefined = {};
};
// The largest gap by distance(). Raises ValueError[fairness.reference] where the reference is none of the
// groups.
Gap gap_of(const Rate& rate, const Groups& groups, Measure measure = Measure::kDifference,
           const Convention& convention = {});

// Newcombe's, of the higher group's rate minus the lower's; it does not know that the two were chosen as the
// furthest apart. None of a gap without two groups, and of rates that are no proportions.
std::optional<Interval> interval(const Gap& gap, const Rate& rate, const Groups& groups,
                                 double level = kLevel);

}  // namespace espalier
