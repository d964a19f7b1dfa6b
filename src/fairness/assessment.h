// What a model's scores are worth, over all rows and in each slice of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/intervals.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"
#include "evaluate/replicates.h"
#include "evaluate/score_means.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"
#include "evaluate/thresholds.h"
#include "fairness/criteria.h"

namespace espalier {

struct AssessmentOptions {
  std::vector<double> thresholds = {0.5};  // ascending
  Positive positive = Positive::kFrom;
  SliceOptions slices = {};
  double level = kLevel;    // of intervals
  bool histograms = false;  // of scores
  Resampling resampling = {};
};

// What histograms of scores tell apart: 0, 0.001, ..., 1.
const std::vector<double>& histogram_thresholds();

struct SliceFigures {
  RowSlice slice;
  std::vector<Confusion> at;  // [thresholds]
  ScoreSums sums;
  std::optional<Auc> auc;
  // By how many of histogram_thresholds() they pass; empty unless asked for.
  std::vector<LabelTallies> histogram = {};
  Replicates replicates = {};
};
// The slices by one column, or by a cross of several.
struct SlicingFigures {
  std::vector<std::string> columns;
  std::vector<SliceFigures> slices;

  std::string name() const;  // "sex", "sex*age"
};
struct Assessment {
  AssessmentOptions options;
  SliceFigures overall;
  std::vector<SlicingFigures> by;
};
// Columns are of the rows. Raises as slice_by(), pass_thresholds() and score_sums() do.
Assessment assess(const ScoredRows& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                  const AssessmentOptions& options = {});

// A number, and how far it can be trusted.
struct Figure {
  std::optional<double> value = {};       // none where it is undefined
  std::optional<Interval> interval = {};  // none where none is known
  int64_t rows = 0;                       // that it counts: of a rate those of its denominator
};

// What can be asked of a slice: rates by name or alias, means of scores, auc, rows, positives.
class SliceMetric {
 public:
  // Raises ValueError[evaluate.metric], with the nearest names.
  explicit SliceMetric(std::string_view name);
  std::string_view name() const { return name_; }
  std::string formula() const;
  // The rate that it is, which depends on the threshold; null for others.
  const Rate* rate() const { return rate_; }
  // Resampled intervals end where a share does.
  Figure operator()(const SliceFigures& slice, size_t threshold, double level = kLevel) const;
  // Of a - b, which share no row and are of one assessment.
  Figure difference(const SliceFigures& a, const SliceFigures& b, size_t threshold,
                    double level = kLevel) const;

 private:
  bool is_share() const;
  // Of each replicate; none where one has no such value.
  std::optional<std::vector<double>> replicates(const SliceFigures& slice, size_t threshold) const;

  std::string_view name_;
  const Rate* rate_ = nullptr;
  const ScoreMean* mean_ = nullptr;
};
// The names of all of them.
std::vector<std::string> slice_metrics();

}  // namespace espalier
