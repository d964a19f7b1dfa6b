// Metrics of decisions between several classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/slices.h"

namespace espalier {

// What a model has said of rows of several classes: columns of one length, which are the caller's and outlive
// this.
class ClassRows {
 public:
  // `labels` and `said` are places in `classes`; `probabilities` [rows, classes] may be none; `weights` say
  // what each row counts, none: 1. Raises ValueError for the first row of no use: evaluate.rows,
  // evaluate.label for no such class, evaluate.probability beyond [0, 1], evaluate.weight.
  ClassRows(const std::vector<std::string>& classes, std::span<const uint32_t> labels,
            std::span<const uint32_t> said, std::span<const double> probabilities = {},
            std::span<const double> weights = {});
  size_t size() const { return labels_.size(); }
  const std::vector<std::string>& classes() const { return classes_; }
  uint32_t label(size_t row) const { return labels_[row]; }
  uint32_t said(size_t row) const { return said_[row]; }
  bool has_probabilities() const { return !probabilities_.empty(); }
  double probability(size_t row, size_t of_class) const {
    return probabilities_[row * classes_.size() + of_class];
  }
  double weight(size_t row) const { return weights_.empty() ? 1 : weights_[row]; }
  // The same rows with other weights, which outlive it too.
  ClassRows weighing(std::span<const double> weights) const {
    ClassRows out = *this;
    out.weights_ = weights;
    return out;
  }

 private:
  const std::vector<std::string>& classes_;
  std::span<const uint32_t> labels_, said_;
  std::span<const double> probabilities_, weights_;
};

// accuracy (which is micro precision, recall and F1 too), macro_precision, macro_recall, macro_f1, log_loss,
// and of each class "precision[", "recall[", "f1[" with its name and "]".
const std::vector<EstimateMetric>& class_metrics();
// Of each slice, with the matrix of its rows. Macro averages are of the classes that a slice's rows have or
// are said to be, a class without a value counting as 0, as in scikit-learn; probabilities are kept 2^-52
// from 0. No log_loss without probabilities. REQUIRES: the slices are of these rows.
std::vector<Estimates> class_estimates(const ClassRows& rows, const Slicing& slicing);

}  // namespace espalier
