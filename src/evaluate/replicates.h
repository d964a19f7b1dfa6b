// What a slice of two classes would say, had its rows been drawn again.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/resampling.h"
#include "evaluate/score_cells.h"
#include "evaluate/score_means.h"

namespace espalier {

// Weights are those of a new draw; rows are not counted.
struct Replicate {
  std::vector<Confusion> at;  // [thresholds]
  ScoreSums sums;
  std::optional<double> auc;
};
struct Replicates {
  IntervalMethod method = IntervalMethod::kClosedForm;
  std::vector<Replicate> of = {};
};

// Of a slice whose cells weigh `weights`, [cells, 2 labels, lanes], in each of the lanes. Within a cell rows
// are taken for its mean row.
template <size_t kLanes>
std::array<Replicate, kLanes> replicates_of(std::span<const ScoreCell> cells, size_t thresholds,
                                            std::span<const double> weights) {
  using Lanes = std::array<double, kLanes>;
  std::vector<std::array<Lanes, 2>> by_passed(thresholds + 1);
  std::array<Lanes, 2> below = {};
  Lanes scores = {}, squared_errors = {}, log_losses = {}, ordered = {};
  for (size_t i = 0; i < cells.size(); ++i) {
    const ScoreCell& cell = cells[i];
    const std::array<const double*, 2> drawn = {&weights[2 * i * kLanes], &weights[(2 * i + 1) * kLanes]};
    for (const size_t label : {0, 1}) {
      const ScoreSums& of = cell.of[label];
      if (of.rows.weight == 0) continue;
      const double share = 1 / of.rows.weight;
      const double score = share * of.scores, error = share * of.squared_errors, loss = share * of.log_losses;
      Lanes& passed = by_passed[cell.passed][label];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        passed[lane] += drawn[label][lane];
        scores[lane] += drawn[label][lane] * score;
        squared_errors[lane] += drawn[label][lane] * error;
        log_losses[lane] += drawn[label][lane] * loss;
      }
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      ordered[lane] += drawn[1][lane] * (below[0][lane] + drawn[0][lane] * cell.ordered);
      below[0][lane] += drawn[0][lane];
      below[1][lane] += drawn[1][lane];
    }
  }
  std::array<Replicate, kLanes> out;
  std::vector<LabelTallies> tallies(thresholds + 1);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    for (size_t i = 0; i <= thresholds; ++i) {
      for (const size_t label : {0, 1}) tallies[i][label].weight = by_passed[i][label][lane];
    }
    const double negatives = below[0][lane], positives = below[1][lane];
    out[lane].sums.rows.weight = negatives + positives;
    out[lane].sums.labels = positives;
    out[lane].sums.scores = scores[lane];
    out[lane].sums.squared_errors = squared_errors[lane];
    out[lane].sums.log_losses = log_losses[lane];
    out[lane].at = confusions(tallies);
    if (negatives > 0 && positives > 0) out[lane].auc = ordered[lane] / negatives / positives;
  }
  return out;
}

}  // namespace espalier
