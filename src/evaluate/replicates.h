// What a slice would say, had its rows been drawn again, and the intervals that follow.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/intervals.h"
#include "evaluate/score_cells.h"
#include "evaluate/score_means.h"

namespace espalier {

enum class IntervalMethod {
  kClosedForm,  // Wilson, Newcombe, DeLong
  kBootstrap,   // each row counts as often as Poisson's law of mean 1 says
  kJackknife,   // rows are dealt to buckets, and each bucket is left out once
};

struct Resampling {
  IntervalMethod method = IntervalMethod::kClosedForm;
  size_t replicates = 200;  // of the bootstrap
  uint64_t seed = 0;
};
// "Poisson bootstrap, 200 replicates, seed 0".
std::string text_of(const Resampling& resampling);

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

// Of a slice whose cells weigh `weights`, [cells, 2 labels, lanes], in one of the lanes. Within a cell rows
// are taken for its mean row.
Replicate replicate_of(std::span<const ScoreCell> cells, size_t thresholds, std::span<const double> weights,
                       size_t lane, size_t lanes);

// TFMA's, Student's t around the replicates' mean with as many degrees of freedom as there are replicates
// less one: the standard error is their deviation, of the jackknife that of Quenouille's pseudo-values over
// the root of their number. None of fewer than two. REQUIRES: one of the two methods.
std::optional<Interval> resampled_interval(double value, std::span<const double> replicates,
                                           IntervalMethod method, double level = kLevel);

}  // namespace espalier
