#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "fairness/assessment.h"

namespace espalier {
namespace {

std::vector<Estimates> estimates_of(const ClassRows& rows, const Slicing& slicing) {
  return class_estimates(rows, slicing);
}
std::vector<Estimates> estimates_of(const NumberRows& rows, const Slicing& slicing) {
  return regression_estimates(rows, slicing);
}
std::vector<Estimates> estimates_of(const QueryRows& rows, const Slicing& slicing) {
  return ndcg_estimates(rows, slicing);
}

// What is drawn as a whole: a row, or all rows of a query.
size_t unit_of(const auto&, size_t row) { return row; }
size_t unit_of(const QueryRows& rows, size_t row) { return rows.query(row); }

// [replicates]: all figures of all slices, one after another; NaN where there is none.
std::vector<std::vector<double>> drawn_again(const auto& rows, const std::vector<Slicing>& slicings,
                                             const Resampling& how) {
  size_t units = 0;
  for (size_t row = 0; row < rows.size(); ++row) units = std::max(units, unit_of(rows, row) + 1);
  const DrawnUnits drawn(units, how);
  std::vector<std::vector<double>> out(drawn.replicates());
  thread_pool().parallel_for(std::ssize(out), [&](int64_t replicate) {
    const std::vector<double> counts = drawn.counts(static_cast<size_t>(replicate));
    std::vector<double> weights(rows.size());
    for (size_t row = 0; row < rows.size(); ++row)
      weights[row] = rows.weight(row) * counts[unit_of(rows, row)];
    const auto again = rows.weighing(weights);
    std::vector<double>& values = out[static_cast<size_t>(replicate)];
    for (const Slicing& slicing : slicings) {
      for (const Estimates& slice : estimates_of(again, slicing)) {
        for (const Estimate& one : slice.of)
          values.push_back(one.value.value_or(std::numeric_limits<double>::quiet_NaN()));
      }
    }
  });
  return out;
}

// Of rows whose figures are estimates.
Assessment assess_estimates(const auto& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                            const AssessmentOptions& options) {
  Assessment out{.options = options, .overall = {}, .by = {}};
  out.options.thresholds.clear();
  std::vector<Slicing> parted = {overall(rows.size(), options.slices)};
  for (const auto& columns : slicings) parted.push_back(slice_by(columns, options.slices));
  const bool again = options.resampling.method != IntervalMethod::kClosedForm;
  const auto drawn =
      again ? drawn_again(rows, parted, options.resampling) : std::vector<std::vector<double>>();
  size_t place = 0;  // among all figures
  const auto add = [&](Estimate& estimate) {
    if (!again) return;
    estimate.method = options.resampling.method;
    for (const std::vector<double>& replicate : drawn) estimate.replicates.push_back(replicate[place]);
    ++place;
    const auto none = [](double value) { return std::isnan(value); };
    if (std::ranges::any_of(estimate.replicates, none)) estimate.replicates.clear();
  };
  std::vector<std::vector<SliceFigures>> figures(parted.size());
  for (size_t i = 0; i < parted.size(); ++i) {
    std::vector<Estimates> estimates = estimates_of(rows, parted[i]);
    for (size_t slice = 0; slice < estimates.size(); ++slice) {
      for (Estimate& estimate : estimates[slice].of) add(estimate);
      figures[i].push_back({.slice = parted[i].slices[slice],
                            .at = {},
                            .sums = {.rows = estimates[slice].rows},
                            .auc = {},
                            .estimates = std::move(estimates[slice].of),
                            .matrix = std::move(estimates[slice].matrix)});
    }
  }
  out.overall = std::move(figures[0][0]);
  for (size_t i = 0; i < slicings.size(); ++i) {
    SlicingFigures& by = out.by.emplace_back();
    by.slices = std::move(figures[i + 1]);
    for (const CategoryColumn* column : slicings[i]) by.columns.push_back(column->name);
  }
  return out;
}

}  // namespace

Assessment assess_any(const AnyRows& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                      const AssessmentOptions& options) {
  const auto by = [&](const std::vector<std::vector<const CategoryColumn*>>& parted) {
    return std::visit(
        [&](const auto& of) {
          if constexpr (std::is_same_v<std::decay_t<decltype(of)>, ScoredRows>)
            return assess(of, parted, options);
          else
            return assess_estimates(of, parted, options);
        },
        rows);
  };
  Assessment out = by(slicings);
  const auto* numbers = std::get_if<NumberRows>(&rows);
  if (!numbers || !options.histograms) return out;
  const CategoryColumn parts = tenths("prediction", numbers->predictions());
  out.tenths = by({{&parts}}).by[0];
  return out;
}

}  // namespace espalier
