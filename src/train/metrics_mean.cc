// Metrics that are the mean of a value a row.
#include <cmath>

#include "espalier/array.h"
#include "espalier/losses.h"
#include "train/metric.h"
#include "train/rows.h"

namespace espalier {

MeanRule::MeanRule(const std::string& name, PerExample per_example)
    : Rule(name), mean(name), per_example(std::move(per_example)) {
  if (!this->per_example) throw ValueError("metric.function", cat("metric \"", name, "\" has no function"));
}

void MeanRule::update(const Tensor& labels, const Tensor& outputs, const Tensor& weights) {
  const Tensor values = per_example(labels, outputs);
  if (values.type() != weights.type()) {
    throw ShapeError("metric.values", cat("metric \"", name, "\" must give ", weights.type(),
                                          ", one value a row, not ", values.type()));
  }
  mean.add(values, weights);
}

namespace metrics {
namespace {

struct RootRule final : MeanRule {
  using MeanRule::MeanRule;
  double result() const override { return std::sqrt(mean.result()); }
};

}  // namespace

Metric MeanMetricWrapper(const std::string& name,
                         std::function<Tensor(const Tensor& labels, const Tensor& outputs)> per_example) {
  return Metric(std::make_shared<MeanRule>(name, std::move(per_example)));
}

Metric Mean(const std::string& name) {
  return MeanMetricWrapper(
      name, [](const Tensor&, const Tensor& outputs) { return row_mean(convert(outputs, DType::kF32)); });
}

Metric MeanSquaredError(const std::string& name) {
  return MeanMetricWrapper(name, espalier::MeanSquaredError().per_example);
}

Metric MeanAbsoluteError(const std::string& name) {
  return MeanMetricWrapper(name, espalier::MeanAbsoluteError().per_example);
}

Metric RootMeanSquaredError(const std::string& name) {
  return Metric(std::make_shared<RootRule>(name, espalier::MeanSquaredError().per_example));
}

}  // namespace metrics
}  // namespace espalier
