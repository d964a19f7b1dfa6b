#include "fairness/page_facts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kMostNamed = 500, kMostClasses = 8;

// Those that are looked at unasked.
std::vector<std::string> usual_metrics(const Assessment& assessment) {
  if (assessment.has_thresholds()) {
    return {"selection_rate",
            "true_positive_rate",
            "false_positive_rate",
            "positive_predictive_value",
            "accuracy",
            "auc"};
  }
  std::vector<std::string> out, of_classes;
  for (const Estimate& estimate : assessment.overall.estimates) {
    if (!estimate_metric(estimate.metric)->compared) continue;
    (estimate.metric.ends_with(']') ? of_classes : out).push_back(estimate.metric);
  }
  if (of_classes.size() <= 2 * kMostClasses) out.insert(out.end(), of_classes.begin(), of_classes.end());
  return out;
}

// By a key, thin slices after the others and what was folded last; but values that stand for colours have an
// order of their own.
std::vector<size_t> ordered(std::span<const SliceFigures> slices,
                            const std::function<double(const SliceFigures&)>& key) {
  const auto coloured = [](const SliceFigures& slice) { return !slice.slice.swatches.empty(); };
  const bool as_they_are = std::ranges::any_of(slices, coloured);
  std::vector<std::tuple<bool, bool, double, size_t>> keys;
  for (const SliceFigures& slice : slices)
    keys.emplace_back(is_fold(slice.slice), !as_they_are && slice.slice.thin, as_they_are ? 0 : key(slice),
                      keys.size());
  std::ranges::sort(keys);
  std::vector<size_t> out;
  for (const auto& each : keys) out.push_back(std::get<3>(each));
  return out;
}

}  // namespace

PageFacts::PageFacts(const Assessment& assessment, const AssessmentPageOptions& options)
    : assessment_(assessment), options_(options), folded_(fold_rare(assessment, options.k)) {
  const size_t thresholds = given().options.thresholds.size();
  if (given().has_thresholds() && options.threshold >= thresholds) {
    throw ValueError("page.threshold", cat("the assessment has ", thresholds,
                                           " thresholds, and none of number ", options.threshold));
  }
  for (const std::string& name : options.metrics.empty() ? usual_metrics(given()) : options.metrics)
    metrics_.emplace_back(name);
  const auto furthest = [&](const SliceFigures& slice) {
    double out = 0;
    for (const SliceMetric& metric : metrics_) out = std::max(out, std::abs(distance(metric, slice)));
    return -out;
  };
  for (SlicingFigures& by : folded_.assessment.by) {
    std::vector<SliceFigures> sorted;
    for (const size_t i : ordered(by.slices, furthest)) sorted.push_back(std::move(by.slices[i]));
    by.slices = std::move(sorted);
  }
  if (given().has_thresholds()) {
    gaps_ = slicing_gaps(given(), options.threshold, options.criteria);
  } else {
    estimate_gaps_ = espalier::estimate_gaps(given(), {});
  }
}

double PageFacts::threshold() const { return given().options.thresholds[options_.threshold]; }
std::string PageFacts::level() const { return cat(shortest(100 * given().options.level), " %"); }

// The name of a class stays as it is.
std::string PageFacts::word(const SliceMetric& metric) const {
  const size_t of_class = std::min(metric.name().find('['), metric.name().size());
  return words(metric.name().substr(0, of_class)) + metric.name().substr(of_class);
}

std::string PageFacts::formula(const SliceMetric& metric) const {
  const EstimateMetric* estimate = given().has_thresholds() ? nullptr : estimate_metric(metric.name());
  return estimate ? std::string(estimate->formula) : metric.formula();
}

std::string PageFacts::without_hidden(const std::string& text) const {
  std::vector<std::string> names = folded_.hidden;
  for (const std::string& figure : folded_.hidden_figures) names.insert(names.end(), {figure, words(figure)});
  return without_names(text, names);
}

Figure PageFacts::figure(const SliceMetric& metric, const SliceFigures& slice) const {
  return metric(slice, options_.threshold, given().options.level);
}

std::optional<double> PageFacts::from_all(const SliceMetric& metric, const SliceFigures& slice) const {
  const Figure its = figure(metric, slice), of_all = figure(metric, given().overall);
  if (!its.value || !of_all.value) return std::nullopt;
  return *its.value - *of_all.value;
}

double PageFacts::scale(const SliceMetric& metric) const {
  const EstimateMetric* estimate = estimate_metric(metric.name());
  if (!estimate || estimate->most == 1) return 1;
  const SliceMetric against(estimate->name == "mean_error" ? "mae" : metric.name());
  const double out = std::abs(figure(against, given().overall).value.value_or(0));
  return out > 0 ? out : 1;
}

double PageFacts::distance(const SliceMetric& metric, const SliceFigures& slice) const {
  return from_all(metric, slice).value_or(0) / scale(metric);
}

std::vector<size_t> PageFacts::order(std::span<const SliceFigures> slices, const SliceMetric& metric) const {
  return ordered(slices,
                 [&](const SliceFigures& slice) { return -std::abs(from_all(metric, slice).value_or(0)); });
}

std::string PageFacts::grey(const SliceFigures& slice) const {
  if (is_fold(slice.slice)) {
    return cat("folded: ", grouped(folded_.folded.at(slice.slice.name)), " slices, those of fewer than ",
               options_.k, " rows and larger ones that would give them away by subtraction");
  }
  if (!slice.slice.thin) return "";
  return cat("thin: fewer than ", grouped(given().options.slices.min_rows), " rows");
}

std::string PageFacts::note(const SliceFigures& slice) const {
  const std::string rows = cat(grouped(slice.slice.rows), " rows");
  if (slice.at.empty()) return rows;
  return cat(rows, ", ", grouped(slice.at[options_.threshold].positives().rows), " positives");
}

std::string PageFacts::title(const SliceMetric& metric, const Figure& figure) const {
  std::string out = formula(metric);
  out += figure.value ? cat(" = ", significant(*figure.value, 6)) : ": undefined";
  out += cat(", of ", grouped(figure.rows), " rows");
  if (figure.interval) {
    out += cat(", ", level(), " interval ", significant(figure.interval->low, 3), " to ",
               significant(figure.interval->high, 3));
  }
  return out;
}

std::span<const SliceFigures> PageFacts::shown(const SlicingFigures& by, size_t most) const {
  return std::span(by.slices).first(std::min(most, by.slices.size()));
}

Html PageFacts::rest(const SlicingFigures& by, size_t most) const {
  if (by.slices.size() <= most) return {};
  const size_t more = by.slices.size() - most;
  std::string names;
  for (size_t i = 0; i < std::min(more, kMostNamed); ++i) {
    names += cat(i == 0 ? "" : "; ", label(by.slices[most + i].slice));
  }
  if (more > kMostNamed) names += cat("; and ", grouped(static_cast<int64_t>(more - kMostNamed)), " more");
  return element("details",
                 element("summary", cat(grouped(static_cast<int64_t>(more)),
                                        " more slices, nearer to all rows, thin or folded, by name")) +
                     element("p", names));
}

HtmlCell number_cell(std::optional<double> value) {
  return {.content = value ? significant(*value, 3) : "-", .number = value, .text = value ? "" : " "};
}
HtmlCell count_cell(int64_t count) {
  return {.content = grouped(count), .number = static_cast<double>(count)};
}
std::vector<HtmlCell> interval_cells(const std::optional<Interval>& interval) {
  if (!interval) return {number_cell({}), number_cell({})};
  return {number_cell(interval->low), number_cell(interval->high)};
}

}  // namespace espalier
