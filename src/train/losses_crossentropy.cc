#include "base/format.h"
#include "base/shortest.h"
#include "espalier/array.h"
#include "espalier/losses.h"
#include "train/rows.h"

namespace espalier {
namespace {

constexpr double kEpsilon = 1e-7;

Tensor clipped(const Tensor& probabilities) { return clamp(kEpsilon, probabilities, 1 - kEpsilon); }

void require_smoothing(const std::string& name, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1) return;
  throw ValueError(cat(name, ".label_smoothing"),
                   cat("label_smoothing must lie in [0, 1], got ", shortest(smoothing)));
}

// `labels` with this share of them spread over `classes` classes.
Tensor smoothed(const Tensor& labels, double share, int64_t classes) {
  return share == 0 ? labels : labels * (1 - share) + share / static_cast<double>(classes);
}

// Of one class each row is certain: the loss would be 0 whatever the model does.
void require_two_classes(const std::string& name, const Tensor& outputs) {
  if (outputs.rank() < 2 || outputs.size(-1) != 1) return;
  throw ShapeError(cat(name, ".classes"),
                   cat("outputs need a last axis of 2 classes or more: outputs ", outputs.type()),
                   "give the last layer one unit for each class; one unit for two classes is for "
                   "BinaryCrossentropy, numbers are for MeanSquaredError");
}

// The sum over the classes of -share * log probability; a class without a share adds nothing, also where its
// logit is -inf.
Tensor entropy_between(const Tensor& share, const Tensor& logs) {
  const Tensor unused = logical_and(isinf(logs), equal(share, 0));
  return -sum(share * where(unused, zeros_like(logs), logs), -1);
}

LossOutputs classes_for(bool from_logits) {
  return from_logits ? LossOutputs::kClassLogits : LossOutputs::kProbabilities;
}

Tensor log_probabilities(const Tensor& outputs, bool from_logits) {
  return from_logits ? log_softmax(outputs) : log(clipped(outputs / sum(outputs, -1, true)));
}

}  // namespace

Loss SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options) {
  const std::string name = "sparse_categorical_crossentropy";
  return {
      name,
      [=](const Tensor& labels, const Tensor& given) {
        require_two_classes(name, given);
        require_class_numbers(name, labels, given);
        const Tensor outputs = convert(given, DType::kF32);
        return row_mean(softmax_cross_entropy(options.from_logits ? outputs : log(clipped(outputs)), labels));
      },
      true, classes_for(options.from_logits)};
}

Loss CategoricalCrossentropy(CrossentropyOptions options, Location at) {
  const CallScope scope(at);
  const std::string name = "categorical_crossentropy";
  require_smoothing(name, options.label_smoothing);
  return {name,
          [=](const Tensor& given_labels, const Tensor& given_outputs) {
            const auto [labels, outputs] = rows_of_one_shape(name, given_labels, given_outputs);
            if (outputs.rank() < 2) {
              throw ShapeError(cat(name, ".classes"),
                               cat("outputs must be [batch, ..., classes], got ", outputs.type()));
            }
            const Tensor share = smoothed(labels, options.label_smoothing, labels.size(-1));
            return row_mean(entropy_between(share, log_probabilities(outputs, options.from_logits)));
          },
          false, classes_for(options.from_logits), true};
}

Loss BinaryCrossentropy(CrossentropyOptions options, Location at) {
  const CallScope scope(at);
  const std::string name = "binary_crossentropy";
  require_smoothing(name, options.label_smoothing);
  return {name,
          [=](const Tensor& given_labels, const Tensor& given_outputs) {
            const auto [labels, outputs] = rows_of_one_shape(name, given_labels, given_outputs);
            const Tensor share = smoothed(labels, options.label_smoothing, 2);
            if (options.from_logits) return row_mean(sigmoid_cross_entropy(outputs, share));
            const Tensor p = clipped(outputs);
            return row_mean(-(share * log(p) + (1 - share) * log(1 - p)));
          },
          false, options.from_logits ? LossOutputs::kLogits : LossOutputs::kProbabilities, true};
}

}  // namespace espalier
