#include <algorithm>

#include "base/format.h"
#include "espalier/array.h"
#include "train/metric.h"
#include "train/rows.h"

namespace espalier::metrics {
namespace {

// f32[batch]: the share of true elements in each row.
Tensor share(const Tensor& right) { return row_mean(convert(right, DType::kF32)); }

// Whether the outputs of each example are free of NaN.
Tensor numbers(const Tensor& outputs) {
  const Tensor top = reduce_max(outputs, {static_cast<int64_t>(outputs.rank()) - 1});
  return equal(top, top);
}

Tensor binary(const Tensor& given_labels, const Tensor& given_outputs, double threshold) {
  const auto [labels, outputs] = rows_of_one_shape("binary_accuracy", given_labels, given_outputs);
  const Tensor right = equal(labels, convert(outputs > threshold, DType::kF32));
  return share(logical_and(right, equal(outputs, outputs)));
}

void require_classes(const char* metric, const Tensor& labels, const Tensor& outputs) {
  if (outputs.rank() >= 2 && outputs.size(-1) > 0) return;
  throw ShapeError(cat(metric, ".outputs"), cat("outputs must be [batch, ..., classes]: labels ",
                                                labels.type(), ", outputs ", outputs.type()));
}

Tensor sparse(const Tensor& labels, const Tensor& outputs) {
  require_classes("sparse_categorical_accuracy", labels, outputs);
  require_class_numbers("sparse_categorical_accuracy", labels, outputs);
  // A narrow dtype of the labels may not hold every class.
  const DType wide = size_of(labels.dtype()) < 4 || labels.dtype() == DType::kI32 ? DType::kI32 : DType::kI64;
  const Tensor hit = equal(argmax(outputs, -1, wide), convert(labels, wide));
  return share(logical_and(hit, numbers(outputs)));
}

Tensor categorical(const Tensor& given_labels, const Tensor& given_outputs) {
  require_classes("categorical_accuracy", given_labels, given_outputs);
  const auto [labels, outputs] = rows_of_one_shape("categorical_accuracy", given_labels, given_outputs);
  return share(logical_and(equal(argmax(outputs, -1), argmax(labels, -1)), numbers(outputs)));
}

Tensor top_k_right(const Tensor& labels, const Tensor& outputs, int64_t k) {
  const char* const name = "top_k_categorical_accuracy";
  require_classes(name, labels, outputs);
  Tensor classes = labels;
  if (labels.rank() < outputs.rank()) {
    require_class_numbers(name, labels, outputs);
  } else {
    classes = argmax(rows_of_one_shape(name, labels, outputs).labels, -1);
  }
  const Tensor own = one_hot(classes, outputs.size(-1), -1, DType::kBool);
  const Tensor bar = sum(where(own, outputs, 0), -1, true);
  const Tensor hit =
      logical_and(count_nonzero(outputs > bar, -1) < std::min(k, outputs.size(-1)), any(own, -1));
  return share(logical_and(hit, numbers(outputs)));
}

Tensor chosen(const Tensor& labels, const Tensor& outputs, double threshold) {
  if (outputs.rank() < 2 || outputs.size(-1) == 1) return binary(labels, outputs, threshold);
  return labels.rank() < outputs.rank() ? sparse(labels, outputs) : categorical(labels, outputs);
}

// `of` takes a threshold, too.
struct ThresholdRule final : MeanRule {
  using Of = Tensor (*)(const Tensor& labels, const Tensor& outputs, double threshold);
  ThresholdRule(const std::string& name, Of of, double given, bool alone)
      : MeanRule(name, [of, this](const Tensor& labels,
                                  const Tensor& outputs) { return of(labels, outputs, threshold); }),
        threshold(given),
        always(alone) {}
  bool takes_probabilities() const override { return always; }
  void take_logits(bool logits) override { threshold = logits ? 0 : BinaryAccuracyOptions().threshold; }

  double threshold;
  bool always;  // not of classes
};

}  // namespace

Metric Accuracy(const std::string& name) {
  return Metric(std::make_shared<ThresholdRule>(name, chosen, BinaryAccuracyOptions().threshold, false));
}

Metric BinaryAccuracy(BinaryAccuracyOptions options, Location at) {
  const CallScope scope(at);
  require_threshold("binary_accuracy", options.threshold);
  return Metric(std::make_shared<ThresholdRule>(options.name, binary, options.threshold, true));
}

Metric SparseCategoricalAccuracy(const std::string& name) { return MeanMetricWrapper(name, sparse); }

Metric CategoricalAccuracy(const std::string& name) { return MeanMetricWrapper(name, categorical); }

Metric TopKCategoricalAccuracy(TopKCategoricalAccuracyOptions options, Location at) {
  const CallScope scope(at);
  if (options.k < 1)
    throw ValueError("top_k_categorical_accuracy.k", cat("k must be positive, got ", options.k));
  return MeanMetricWrapper(options.name, [k = options.k](const Tensor& labels, const Tensor& outputs) {
    return top_k_right(labels, outputs, k);
  });
}

}  // namespace espalier::metrics
