// Rows of a slice that resampling counts together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/score_means.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"
#include "evaluate/thresholds.h"

namespace espalier {

// Neighbours by score that pass the same thresholds.
struct ScoreCell {
  size_t passed = 0;
  std::array<ScoreSums, 2> of = {};  // by label
  // Of its pairs of a positive and a negative, by weight, the share in which the positive has the higher
  // score; equal scores count half.
  double ordered = 0.5;
};

struct ScoreCells {
  static constexpr uint32_t kNone = Slicing::kNone;
  size_t thresholds = 0;
  std::vector<ScoreCell> cells;  // by slice, then by ascending score
  std::vector<size_t> begins;    // [slices + 1]: where each slice's cells begin
  std::vector<uint32_t> of_row;  // kNone for rows of no slice

  std::span<const ScoreCell> of_slice(size_t slice) const {
    return std::span(cells).subspan(begins[slice], begins[slice + 1] - begins[slice]);
  }
};
// A cell is left at the next higher score when it holds 1 / most of its slice's rows: slices of at most so
// many rows have a cell for each of their scores. REQUIRES: all are of the same rows, `order` is
// order_by_score's, `losses` log_losses().
ScoreCells score_cells(const ScoredRows& rows, std::span<const double> losses,
                       std::span<const uint32_t> order, const PassedThresholds& passed,
                       const Slicing& slicing, size_t most);

}  // namespace espalier
