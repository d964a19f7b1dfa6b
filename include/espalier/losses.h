// Losses by Keras' names and formulas.
#pragma once

#include <functional>
#include <string>

#include "espalier/tensor.h"

namespace espalier {

// What a loss takes outputs for: logits of a sigmoid, of a softmax over the last axis, probabilities.
enum class LossOutputs : uint8_t { kAny, kLogits, kClassLogits, kProbabilities };

// The loss of rows as two sums, which add up over batches, replicas and processes whatever number of rows
// each has: one division at the end gives the loss of all rows.
struct LossSums {
  Tensor sum;     // of row_weight * loss, f[]
  Tensor weight;  // of row_weight, f[]

  // Losses and weights of rows, both f[batch] of one dtype. A row of weight 0 is not there, whatever its
  // loss. Raises ShapeError[loss.row_weight].
  static LossSums of(const Tensor& losses, const Tensor& row_weight, Location at = Location::here());
  // sum / weight; 0 of rows that weigh nothing. What fit minimises, where Keras divides a batch's sum by its
  // number of rows.
  Tensor mean() const;
  LossSums operator+(const LossSums& other) const;
};

// A loss of single examples. fit and evaluate give outputs to losses and metrics in f32, whatever the model
// computes in.
struct Loss {
  std::string name;
  // (labels, outputs) -> f[batch]. of_rows, fit and evaluate raise ShapeError[loss.shape],
  // DTypeError[loss.dtype] for anything else, ValueError[loss.function] for a tensor that holds nothing.
  std::function<Tensor(const Tensor& labels, const Tensor& outputs)> per_example;
  // Labels are class numbers: fit and evaluate refuse those outside of the outputs' last axis, and the metric
  // "auto" is accuracy.
  bool class_labels = false;
  // fit and evaluate refuse outputs that are plainly the other kind: ValueError[loss.logits] for those of a
  // softmax or a sigmoid where logits are wanted, [loss.probabilities] for those that a trainable variable is
  // added to last, as the bias of a linear layer, where probabilities are. Metrics by name follow: Metric.
  LossOutputs outputs = LossOutputs::kAny;
  // Labels are shares: fit and evaluate refuse those outside of [0, 1].
  bool share_labels = false;

  // Raises ValueError[loss.function] where per_example is none.
  void require_function(Location at = Location::here()) const;
  // per_example, held against what it promises; raises as said there, and ValueError[loss.labels] for class
  // labels outside of the outputs' last axis, as far as they have values: a traced call gives NaN for them.
  Tensor of_rows(const Tensor& labels, const Tensor& outputs, Location at = Location::here()) const;
  // Of these rows, each of weight 1 where `row_weight`, f32[batch], is not given; in a function of
  // Strategy::run() by strategy::row_weight(). A row of weight 0 is not
  // there: nothing that its label or output holds reaches sums or gradients. Raises what of_rows and
  // LossSums::of do.
  LossSums sums(const Tensor& labels, const Tensor& outputs, const Tensor& row_weight = {},
                Location at = Location::here()) const;
};

// What the losses below have in common: outputs are floating-point numbers [batch, ...], all is computed in
// f32, and the loss of an example is the mean over its other axes. Nothing broadcasts:
// ShapeError[<loss>.labels] when the shapes are not as said, DTypeError[<loss>.outputs] for outputs of
// integers. Probabilities are taken as at least 1e-7 and at most 1 - 1e-7.

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;  // outputs are unnormalised logits, not probabilities
};
// -log of the probability of the right class. Labels are class numbers i[batch, ...], outputs f[batch, ...,
// classes]. Raises DTypeError[sparse_categorical_crossentropy.labels] for labels that are no integers,
// ShapeError[sparse_categorical_crossentropy.classes] for outputs of a single class.
Loss SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options = {});

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;  // in [0, 1]: this share of each label is spread over all classes
};
// -sum(labels * log(probabilities)) over the last axis. Labels are probabilities of the outputs' shape,
// [batch, ..., classes] (one_hot makes them of class numbers); outputs that are no logits are divided by
// their sum. Raises ValueError[categorical_crossentropy.label_smoothing].
Loss CategoricalCrossentropy(CrossentropyOptions options = {}, Location at = Location::here());
// -labels * log(outputs) - (1 - labels) * log(1 - outputs). Labels are 0, 1 or a probability, of the outputs'
// shape. Raises ValueError[binary_crossentropy.label_smoothing].
Loss BinaryCrossentropy(CrossentropyOptions options = {}, Location at = Location::here());

// Labels are numbers of the outputs' shape.
Loss MeanSquaredError();
Loss MeanAbsoluteError();
struct HuberOptions {
  double delta = 1;  // positive and finite
};
// With error = outputs - labels: error^2 / 2 where |error| <= delta, else delta |error| - delta^2 / 2. Raises
// ValueError[huber.delta].
Loss Huber(HuberOptions options = {}, Location at = Location::here());

}  // namespace espalier
