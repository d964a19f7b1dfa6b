// What a model's scores are worth, over all rows and in each slice of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evaluate/classes.h"
#include "evaluate/estimate.h"
#include "evaluate/intervals.h"
#include "evaluate/ndcg.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"
#include "evaluate/regression.h"
#include "evaluate/replicates.h"
#include "evaluate/score_means.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"
#include "evaluate/thresholds.h"
#include "fairness/criteria.h"

namespace espalier {

struct AssessmentOptions {
  std::vector<double> thresholds = {0.5};  // ascending; of what nothing is decided by: none
  Positive positive = Positive::kFrom;
  std::string positive_rows = {};  // which rows are truly positive, for people: "income=high"
  SliceOptions slices = {};
  double level = kLevel;     // of intervals
  bool histograms = false;   // of scores; of predicted numbers tenths
  bool backgrounds = false;  // bpsn_auc and bnsp_auc of slices, which take a pass over all rows each
  Resampling resampling = {};
};

// What histograms of scores tell apart: 0, 0.001, ..., 1.
const std::vector<double>& histogram_thresholds();

struct SliceFigures {
  RowSlice slice;
  std::vector<Confusion> at;  // [thresholds]
  ScoreSums sums;
  std::optional<Auc> auc;
  // Figures beside those that follow from the others.
  std::vector<Estimate> estimates = {};
  // [true * classes + said]: rows, of several classes.
  std::vector<int64_t> matrix = {};
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
  // Of predicted numbers: rows by tenths() of the predictions, where asked for.
  std::optional<SlicingFigures> tenths = {};

  // Whether rows are said to be positive, at thresholds; else all figures are estimates.
  bool has_thresholds() const { return !options.thresholds.empty(); }
};
// Columns are of the rows. Raises as slice_by(), pass_thresholds() and score_sums() do.
Assessment assess(const ScoredRows& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                  const AssessmentOptions& options = {});
// Rows of two classes, of several, of numbers, or of queries whose rows are put in order.
using AnyRows = std::variant<ScoredRows, ClassRows, NumberRows, QueryRows>;
// Of any of them; of numbers with tenths where histograms are asked for. Where rows are drawn again, those of
// a query are drawn together. Raises as assess() does.
Assessment assess_any(const AnyRows& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                      const AssessmentOptions& options = {});

// A number, and how far it can be trusted.
struct Figure {
  std::optional<double> value = {};       // none where it is undefined
  std::optional<Interval> interval = {};  // none where none is known
  int64_t rows = 0;                       // that it counts: of a rate those of its denominator
};

// What can be asked of a slice: rates by name or alias, means of scores, auc, rows, positives, estimates, of
// which those of one class are "recall[setosa]".
class SliceMetric {
 public:
  // Raises ValueError[evaluate.metric], with the nearest names.
  explicit SliceMetric(std::string_view name);
  const std::string& name() const { return name_; }
  std::string formula() const;
  // Whether it lies from 0 to 1.
  bool is_share() const;
  // Whether a closed form says of some rows how far it can be trusted.
  bool has_interval() const { return is_share() || estimate_; }
  // The same of such rows: the log loss of two classes has none, that of several has.
  bool has_interval(const Assessment& assessment) const;
  // The rate that it is, which depends on the threshold; null for others.
  const Rate* rate() const { return rate_; }
  // The estimate that it is; null for others.
  const EstimateMetric* estimate() const { return estimate_; }
  // Resampled intervals end where a share does.
  Figure operator()(const SliceFigures& slice, size_t threshold, double level = kLevel) const;
  // Of a - b, which share no row and are of one assessment.
  Figure difference(const SliceFigures& a, const SliceFigures& b, size_t threshold,
                    double level = kLevel) const;

 private:
  // An interval of the metric, or of differences of it, is cut to what is possible.
  Interval possible(const Interval& interval, bool difference) const;
  // Of each replicate; none where one has no such value.
  std::optional<std::vector<double>> replicates(const SliceFigures& slice, size_t threshold) const;

  std::string name_;
  const Rate* rate_ = nullptr;
  const ScoreMean* mean_ = nullptr;
  const EstimateMetric* estimate_ = nullptr;
};
// The names of those that any rows of two classes have.
std::vector<std::string> slice_metrics();
// The names of those that slices of this assessment have.
std::vector<std::string> slice_metrics(const Assessment& assessment);
// Of an estimate's name, which may be of one class; null for others.
const EstimateMetric* estimate_metric(std::string_view name);

}  // namespace espalier
