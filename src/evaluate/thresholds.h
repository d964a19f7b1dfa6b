// Confusions of all slices at a few thresholds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"

namespace espalier {

// How many of the thresholds each row's score passes: what the passes over the rows of several slicings
// share.
struct PassedThresholds {
  size_t thresholds = 0;
  std::vector<uint16_t> of_row;
};
// Raises ValueError[evaluate.thresholds] unless there are 1 to 65,535 thresholds, ascending and no NaN.
PassedThresholds pass_thresholds(const ScoredRows& rows, std::span<const double> thresholds,
                                 Positive positive = Positive::kFrom);

// Rows by label, 0 and 1.
using LabelTallies = std::array<Tally, 2>;
// [slices, thresholds + 1]: the rows by how many thresholds they pass, which are those of a histogram then.
// REQUIRES: all three are of the same rows.
std::vector<LabelTallies> tallies(const ScoredRows& rows, const PassedThresholds& passed,
                                  const Slicing& slicing);
// [thresholds] of one slice's tallies, [thresholds + 1].
std::vector<Confusion> confusions(std::span<const LabelTallies> by_passed);
// [slices, thresholds], in one pass over the rows. REQUIRES: all three are of the same rows.
std::vector<Confusion> confusions(const ScoredRows& rows, const PassedThresholds& passed,
                                  const Slicing& slicing);

}  // namespace espalier
