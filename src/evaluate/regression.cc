#include "evaluate/regression.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/scored_rows.h"

namespace espalier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum Metric : size_t {
  kMae,
  kRmse,
  kR2,
  kMeanError,
  kMeanPrediction,
  kMse,
  kMeanLabel,
  kCalibration,
  kMetrics
};
using Values = std::array<double, kMetrics>;

// Weighted means over the rows of a slice.
struct Means {
  Tally rows;
  double error = 0, size = 0, square = 0, prediction = 0, truth = 0;
  double spread = 0;    // of the truths: their variance
  Values squares = {};  // sums of (w influence)^2

  void add(double said, double is, double weight) {
    rows.add(weight);
    error += weight * (said - is);
    size += weight * std::abs(said - is);
    square += weight * (said - is) * (said - is);
    prediction += weight * said;
    truth += weight * is;
  }
  void divide() {
    for (double* sum : {&error, &size, &square, &prediction, &truth}) *sum /= rows.weight;
  }
  std::optional<double> value(size_t metric) const {
    if (!(rows.weight > 0) || (metric == kCalibration && truth == 0)) return std::nullopt;
    if (metric == kR2) return r2_of(square, spread, truth);
    return Values{size, std::sqrt(square), 0, error, prediction, square, truth, prediction / truth}[metric];
  }
  // How far a row pulls at each metric; what divides by 0 here has no variance.
  void pull(double said, double is, double weight) {
    // A row of weight 0 is not there: 0 times a square that overflows is no number.
    if (weight == 0) return;
    const double e = said - is, away = (is - truth) * (is - truth), unexplained = square / spread;
    const Values influences = {std::abs(e) - size,
                               (e * e - square) / (2 * std::sqrt(square)),
                               (unexplained * away - e * e) / spread,
                               e - error,
                               said - prediction,
                               e * e - square,
                               is - truth,
                               (said - prediction / truth * is) / truth};
    for (size_t i = 0; i < kMetrics; ++i) squares[i] += weight * weight * influences[i] * influences[i];
  }
};

template <class Visit>
void for_rows(const NumberRows& rows, const Slicing& slicing, std::vector<Means>& means, Visit&& visit) {
  for (size_t row = 0; row < rows.size(); ++row) {
    if (slicing.of_row[row] != Slicing::kNone) visit(means[slicing.of_row[row]], row);
  }
}

}  // namespace

NumberRows::NumberRows(std::span<const double> predictions, std::span<const double> truths,
                       std::span<const double> weights)
    : predictions_(predictions), truths_(truths), weights_(weights) {
  if (truths.size() != predictions.size()) {
    throw ValueError("evaluate.rows", cat("predictions and labels are of the same rows: ", predictions.size(),
                                          " predictions, ", truths.size(), " labels"));
  }
  check_weights(predictions.size(), weights);
  for (size_t row = 0; row < predictions.size(); ++row) {
    for (const auto& [rule, what, number] : {std::tuple("evaluate.score", "a prediction", predictions[row]),
                                             std::tuple("evaluate.label", "a label", truths[row])}) {
      if (!std::isfinite(number))
        throw ValueError(rule, cat(what, " is a finite number: row ", row, " has ", shortest(number)));
    }
  }
}

std::optional<double> r2_of(double square, double spread, double truth) {
  // Truths that are alike have a mean that rounding moves off them.
  constexpr double kRounding = 1e-13;
  if (std::sqrt(spread) > kRounding * std::abs(truth)) return 1 - square / spread;
  if (square == 0) return 1;  // as Keras and scikit-learn have it
  return std::nullopt;
}

const std::vector<EstimateMetric>& regression_metrics() {
  static const std::vector<EstimateMetric> table{
      {"mae", {"mean_absolute_error"}, "sum(w |p - y|) / sum(w)", 0, kInfinity, true},
      {"rmse", {"root_mean_squared_error"}, "sqrt(sum(w (p - y)^2) / sum(w))", 0, kInfinity, true},
      {"r2", {"r_squared"}, "1 - sum(w (p - y)^2) / sum(w (y - mean y)^2)", -kInfinity, 1, true},
      {"mean_error", {"bias"}, "sum(w (p - y)) / sum(w)", -kInfinity, kInfinity, true},
      {"mean_prediction", {}, "sum(w p) / sum(w)", -kInfinity, kInfinity, true},
      {"mse", {"mean_squared_error"}, "sum(w (p - y)^2) / sum(w)", 0, kInfinity},
      {"mean_label", {}, "sum(w y) / sum(w)", -kInfinity, kInfinity},
      {"calibration", {}, "sum(w p) / sum(w y)", -kInfinity, kInfinity},
  };
  return table;
}

std::vector<Estimates> regression_estimates(const NumberRows& rows, const Slicing& slicing) {
  std::vector<Means> means(slicing.slices.size());
  for_rows(rows, slicing, means,
           [&](Means& its, size_t row) { its.add(rows.prediction(row), rows.truth(row), rows.weight(row)); });
  for (Means& its : means) its.divide();
  for_rows(rows, slicing, means, [&](Means& its, size_t row) {
    const double away = rows.truth(row) - its.truth;
    its.spread += rows.weight(row) * away * away / its.rows.weight;
  });
  for_rows(rows, slicing, means, [&](Means& its, size_t row) {
    its.pull(rows.prediction(row), rows.truth(row), rows.weight(row));
  });
  std::vector<Estimates> out;
  for (const Means& its : means) {
    Estimates& of_slice = out.emplace_back(Estimates{.rows = its.rows});
    for (size_t i = 0; i < kMetrics; ++i) {
      Estimate& one = of_slice.of.emplace_back(Estimate{.metric = std::string(regression_metrics()[i].name)});
      one.value = its.value(i);
      one.rows = its.rows.rows;
      one.effective_rows = its.rows.effective_rows();
      if (one.value && std::isfinite(its.squares[i]))
        one.variance = linear_variance(its.squares[i], its.rows);
    }
  }
  return out;
}

}  // namespace espalier
