// How far the slices of an assessment lie apart in estimates, and how far by chance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fairness/assessment_text.h"
#include "fairness/permutation.h"

namespace espalier {

struct EstimateGap {
  std::string metric;
  // Highest - lowest, lowest / highest of a metric never below 0; against a reference its group less the
  // reference, of the group furthest from it. None where a slice has no value.
  std::optional<double> difference = {}, ratio = {};
  std::optional<Interval> interval = {};  // of the difference; does not know that the two were chosen
  const SliceFigures *low = nullptr, *high = nullptr;
  const SliceFigures* undefined = nullptr;  // a slice without a value
  std::optional<ByChance> by_chance = {};
  std::optional<double> adjusted_p = {};  // holm() over all tests of the assessment
};

struct EstimateGaps {
  const SlicingFigures* by;                 // the assessment's
  const SliceFigures* reference = nullptr;  // that others are compared with
  std::vector<EstimateGap> of;              // none where fewer than two slices are compared
};
struct EstimateGapTables {
  std::vector<EstimateGaps> of;  // [slicings]
  size_t tests = 0;              // with a p-value
};
// Of the metrics that are compared unasked, between slices that are not thin and the reference.
EstimateGapTables estimate_gaps(const Assessment& assessment, const AssessmentView& view);

// The mean gap of slices whose true values are alike, and how often one is as large as `gap`: each value is
// drawn by the normal law of its own error. `reference` is the place of the slice that others are compared
// with, none: the lowest and the highest are. None where an error is unknown, of no error at all, and of
// fewer than two slices.
std::optional<ByChance> by_chance(const std::vector<Estimate>& slices, double gap,
                                  std::optional<size_t> reference = {}, const Permuting& permuting = {});

}  // namespace espalier
