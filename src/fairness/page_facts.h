// What the sections of an assessment's page share: its slices without rare ones, and how far they lie apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fairness/assessment_page.h"
#include "fairness/estimate_gaps.h"
#include "fairness/rare_classes.h"
#include "report/html_table.h"

namespace espalier {

class PageFacts {
 public:
  // Both outlive this. Raises as assessment_page() does.
  PageFacts(const Assessment& assessment, const AssessmentPageOptions& options);
  PageFacts(const PageFacts&) = delete;

  const AssessmentPageOptions& options() const { return options_; }
  // Slices are sorted: those furthest from all rows first, thin and folded ones last; in their own order
  // where values stand for colours.
  const Assessment& given() const { return folded_.assessment; }
  // Slices and classes that the page does not name, and a text without them.
  size_t hidden_slices() const { return folded_.hidden.size(); }
  const std::vector<std::string>& left_out() const { return folded_.left_out; }
  size_t hidden_classes() const { return classes_of(assessment_).size() - classes_of(given()).size(); }
  std::string without_hidden(const std::string& text) const;
  const std::vector<SliceMetric>& metrics() const { return metrics_; }
  // Of two classes, and of all else; the other one is empty.
  const std::vector<SlicingGap>& gaps() const { return gaps_; }
  const EstimateGapTables& estimate_gaps() const { return estimate_gaps_; }

  double threshold() const;   // REQUIRES: there are thresholds
  std::string level() const;  // "95 %"
  std::string word(const SliceMetric& metric) const;
  // As it is computed here: the accuracy of several classes is no rate.
  std::string formula(const SliceMetric& metric) const;
  Figure figure(const SliceMetric& metric, const SliceFigures& slice) const;
  // The value less that of all rows.
  std::optional<double> from_all(const SliceMetric& metric, const SliceFigures& slice) const;
  // The same where metrics are compared: as it is of shares, rates and r2, of mean errors against the mean
  // absolute error, else against the value of all rows. 0 where there is none.
  double distance(const SliceMetric& metric, const SliceFigures& slice) const;
  // What a difference of the metric is held against in distance().
  double scale(const SliceMetric& metric) const;

  // Places by ascending distance from the front: what `metric` says is furthest first.
  std::vector<size_t> order(std::span<const SliceFigures> slices, const SliceMetric& metric) const;
  std::string grey(const SliceFigures& slice) const;  // why little is to be thought of it, or ""
  std::string note(const SliceFigures& slice) const;  // "1,234 rows, 590 positives"
  std::string title(const SliceMetric& metric, const Figure& figure) const;
  std::span<const SliceFigures> shown(const SlicingFigures& by, size_t most) const;
  // The names of those that are not.
  Html rest(const SlicingFigures& by, size_t most) const;

 private:
  const Assessment& assessment_;
  const AssessmentPageOptions& options_;
  FoldedAssessment folded_;
  std::vector<SliceMetric> metrics_;
  std::vector<SlicingGap> gaps_;
  EstimateGapTables estimate_gaps_;
};

HtmlCell number_cell(std::optional<double> value);
HtmlCell count_cell(int64_t count);
// Both ends.
std::vector<HtmlCell> interval_cells(const std::optional<Interval>& interval);

}  // namespace espalier
