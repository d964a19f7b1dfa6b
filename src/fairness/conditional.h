// How far groups lie apart among rows that are alike in what may rightly make a difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fairness/assessment.h"

namespace espalier {

// A group in all strata together.
struct StandardisedGroup {
  std::string name;  // "sex=Female"
  double rate = 0;   // the mean over strata of its rates there, each stratum as heavy as for the others
  int64_t rows = 0;  // that its rates count
};

struct StratumGap {
  std::string name;          // "job=clerk"
  int64_t rows = 0;          // that the rates of its groups count
  double weight = 0;         // its share of what all strata count
  size_t low = 0, high = 0;  // of the groups: furthest apart, against a reference itself and another
  double low_rate = 0, high_rate = 0;
  Figure gap = {};  // high_rate - low_rate
};

struct ConditionalGap {
  std::vector<StandardisedGroup> groups = {};
  size_t low = 0, high = 0;  // of the groups, as in a stratum
  Figure gap = {};           // of their rates; none of fewer than two groups, and of no stratum
  std::vector<StratumGap> strata = {};
  std::vector<std::string> thin = {};      // groups that count too few rows
  std::vector<std::string> left_out = {};  // strata in which a group counts no row
};

struct ConditionalOptions {
  size_t threshold = 0;                       // its place among the assessment's
  int64_t least_rows = 0;                     // that a group counts in all strata; fewer are thin
  std::optional<std::string> reference = {};  // the group that others are compared with, never thin
  double level = kLevel;
};

// `cross` is by the columns of the groups, of which there are `columns`, and behind them by those that rows
// must be alike in. Rates of groups are standardised: a stratum weighs what the rate counts in all groups, so
// that of two groups the gap is the weighted mean of the gaps in the strata. Intervals: of a stratum
// SliceMetric::difference(), of the gap linear_interval(), or resampled where the assessment is, the weights
// taken as known; none knows that two of several groups were chosen. REQUIRES: rate.is_proportion().
ConditionalGap conditional_gap(const Rate& rate, const SlicingFigures& cross, size_t columns,
                               const ConditionalOptions& options = {});

}  // namespace espalier
