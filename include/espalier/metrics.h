// Metrics by Keras' names and formulas.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/variable.h"

namespace espalier {

// A number about labels and outputs of many batches. What it keeps are sums in variables, so that it works in
// traced functions and rows in one batch or in many give the same. A handle: copies share state. compile()
// takes metrics by name or as objects: {"accuracy", "auc", metrics::Precision({.threshold = 0.3})}.
class Metric {
 public:
  // By Keras' names, with its defaults: "accuracy" ("acc"), "binary_accuracy", "categorical_accuracy",
  // "sparse_categorical_accuracy", "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy" (both
  // take labels of either kind), "precision", "recall", "auc", "mean", "mean_absolute_error" ("mae"),
  // "mean_squared_error" ("mse"), "root_mean_squared_error" ("rmse"), "r2_score" ("r2"). "auto" is accuracy,
  // which compile() leaves out where the loss is of numbers. One that is asked for by name and takes
  // probabilities takes logits where the loss does, as Keras' do not: threshold 0, AUC's from_logits. Raises
  // ValueError[metric.name].
  Metric(const std::string& name, Location at = Location::here());
  Metric(const char* name, Location at = Location::here()) : Metric(std::string(name), at) {}

  // What logs call it.
  const std::string& name() const;
  // Adds rows. `weights` f32[batch] say what each row counts, by default 1, or strategy::row_weight() in a
  // function of Strategy::run(); a row of weight 0 is not there,
  // whatever it holds. Raises ShapeError or DTypeError,
  // [<metric>.labels], [<metric>.outputs], for labels and outputs that do not fit,
  // ShapeError[metric.weights], DTypeError[metric.weights].
  void update(const Tensor& labels, const Tensor& outputs, const Tensor& weights = {},
              Location at = Location::here());
  // Of all rows since the last reset; 0 of none, unless it says otherwise.
  double result() const;
  void reset();
  std::vector<Variable> variables() const;

  struct Rule;
  explicit Metric(std::shared_ptr<Rule> rule) : rule_(std::move(rule)) {}
  const std::shared_ptr<Rule>& rule() const { return rule_; }

 private:
  std::shared_ptr<Rule> rule_;
};

namespace metrics {

// The weighted mean of a value a row, f32[batch].
Metric MeanMetricWrapper(const std::string& name,
                         std::function<Tensor(const Tensor& labels, const Tensor& outputs)> per_example);
// The weighted mean of the outputs [batch, ...], of a single number as reshape(x, {1}); labels are not looked
// at and may be Tensor().
Metric Mean(const std::string& name = "mean");

// The share of rows that are right; a row that holds NaN is not. Of these, "accuracy" is the one that the
// shapes ask for: binary where the outputs' last axis has size 1 (or there is none), sparse where labels have
// no such axis, else categorical.
Metric Accuracy(const std::string& name = "accuracy");
struct BinaryAccuracyOptions {
  double threshold = 0.5;  // for probabilities; 0 for logits
  std::string name = "binary_accuracy";
};
// Labels of the outputs' shape; right where label and (output > threshold) are equal. Raises
// ValueError[binary_accuracy.threshold] unless that is finite.
Metric BinaryAccuracy(BinaryAccuracyOptions options = {}, Location at = Location::here());
// Class numbers i[batch, ...], outputs f[batch, ..., classes]; right where the first largest output is the
// label.
Metric SparseCategoricalAccuracy(const std::string& name = "sparse_categorical_accuracy");
// Labels of the outputs' shape; right where the first largest output is at the first largest label.
Metric CategoricalAccuracy(const std::string& name = "categorical_accuracy");
struct TopKCategoricalAccuracyOptions {
  int64_t k = 5;  // positive
  std::string name = "top_k_categorical_accuracy";
};
// Labels as either of the two; right where fewer than k outputs are larger than the label's. Raises
// ValueError[top_k_categorical_accuracy.k].
Metric TopKCategoricalAccuracy(TopKCategoricalAccuracyOptions options = {}, Location at = Location::here());

// Labels of the outputs' shape, not 0 for positives; every element counts with the weight of its row, and as
// predicted positive where output > threshold. Raise ValueError[precision.threshold], [recall.threshold]
// unless that is finite.
struct PrecisionOptions {
  double threshold = 0.5;
  std::string name = "precision";
};
// True positives / predicted positives.
Metric Precision(PrecisionOptions options = {}, Location at = Location::here());
struct RecallOptions {
  double threshold = 0.5;
  std::string name = "recall";
};
// True positives / positives.
Metric Recall(RecallOptions options = {}, Location at = Location::here());
struct AUCOptions {
  int64_t num_thresholds = 200;  // from 2 to 1,000,000
  bool from_logits = false;      // outputs are logits, not probabilities
  std::string name = "auc";
};
// The area under the receiver operating characteristic, by trapezoids between evenly spaced thresholds.
// Raises ValueError[auc.num_thresholds].
Metric AUC(AUCOptions options = {}, Location at = Location::here());

// Labels of the outputs' shape.
Metric MeanSquaredError(const std::string& name = "mean_squared_error");
Metric MeanAbsoluteError(const std::string& name = "mean_absolute_error");
Metric RootMeanSquaredError(const std::string& name = "root_mean_squared_error");
// The mean over the outputs of a row of 1 - (sum of squared errors) / (sum of squared distances of the labels
// from their mean); an output whose labels are all equal counts 1 where there is no error and else 0; NaN of
// no rows. Sums are f64. Raises ShapeError[r2_score.outputs] when the number of outputs changes.
Metric R2Score(const std::string& name = "r2_score");

}  // namespace metrics
}  // namespace espalier
