// Metrics of predicted numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/slices.h"

namespace espalier {

// Numbers that a model has predicted, beside the true ones: columns of one length, which are the caller's and
// outlive this.
class NumberRows {
 public:
  // `weights` say what each row counts, none: 1. Raises ValueError for the first row of no use:
  // evaluate.rows, evaluate.score and evaluate.label for numbers that are not finite, evaluate.weight.
  NumberRows(std::span<const double> predictions, std::span<const double> truths,
             std::span<const double> weights = {});
  size_t size() const { return predictions_.size(); }
  std::span<const double> predictions() const { return predictions_; }
  double prediction(size_t row) const { return predictions_[row]; }
  double truth(size_t row) const { return truths_[row]; }
  double weight(size_t row) const { return weights_.empty() ? 1 : weights_[row]; }
  // The same rows with other weights, which outlive it too.
  NumberRows weighing(std::span<const double> weights) const {
    NumberRows out = *this;
    out.weights_ = weights;
    return out;
  }

 private:
  std::span<const double> predictions_, truths_, weights_;
};

// From means over the rows: of squared errors, of the truths' squared distances from their mean, and of the
// truths. Where these are all alike it is 1 if each is met, else undefined.
std::optional<double> r2_of(double square, double spread, double truth);

// mae, rmse, r2, mean_error, mean_prediction, mse, mean_label, calibration.
const std::vector<EstimateMetric>& regression_metrics();
// Of each slice, in three passes over the rows. REQUIRES: the slices are of these rows.
std::vector<Estimates> regression_estimates(const NumberRows& rows, const Slicing& slicing);

}  // namespace espalier
