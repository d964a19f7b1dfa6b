#include "espalier/array.h"
#include "train/step.h"

namespace espalier {
namespace {

// 1 where the first largest output is the label.
Tensor correct(const Tensor& labels, const Tensor& outputs) {
  if (is_float(labels.dtype()) || outputs.rank() != 2 || labels.shape() != Shape{outputs.size(0)} ||
      outputs.size(1) == 0) {
    throw ShapeError("accuracy.labels", cat("accuracy takes class numbers i[batch] and outputs f[batch, "
                                            "classes]: labels ",
                                            labels.type(), ", outputs ", outputs.type()));
  }
  const int64_t last = 1;
  // A narrow dtype of the labels may not hold every class.
  const DType wide = size_of(labels.dtype()) < 4 || labels.dtype() == DType::kI32 ? DType::kI32 : DType::kI64;
  const Tensor hit = compare(argmax(outputs, last, wide), convert(labels, wide), Comparison::kEQ);
  // An example whose outputs hold NaN is not right.
  const Tensor top = reduce_max(outputs, {last});
  return convert(logical_and(hit, compare(top, top, Comparison::kEQ)), DType::kF32);
}

}  // namespace

Mean::Mean(const std::string& name)
    : total(full({}, 0), {.name = cat("metrics/", name, "/total"), .trainable = false}),
      weight(full({}, 0), {.name = cat("metrics/", name, "/weight"), .trainable = false}) {}

void Mean::add(const Tensor& values, const Tensor& weights) {
  total.assign_add(reduce_sum(values * weights, {0}));
  weight.assign_add(reduce_sum(weights, {0}));
}

double Mean::result() const {
  const double w = weight.read().item<float>();
  return w == 0 ? 0 : total.read().item<float>() / w;
}

void Mean::reset() {
  total.assign(full({}, 0));
  weight.assign(full({}, 0));
}

Model::Training::Training(ModelOptions given) : options(std::move(given)) {
  if (!options.loss.per_example)
    throw ValueError("loss.function", cat("loss \"", options.loss.name, "\" has no function"));
  means.emplace_back("loss", Mean("loss"));
  for (const std::string& metric : options.metrics) {
    if (metric != "accuracy") throw_unknown("metric.name", "metric", metric, {"accuracy"});
    means.emplace_back(metric, Mean(metric));
  }
}

void Model::Training::observe(const Tensor& losses, const Tensor& labels, const Tensor& outputs,
                              const Tensor& weights) {
  for (auto& [name, mean] : means) mean.add(name == "loss" ? losses : correct(labels, outputs), weights);
}

Logs Model::Training::logs() const {
  Logs out;
  refresh(out);
  return out;
}

void Model::Training::refresh(Logs& logs) const {
  for (const auto& [name, mean] : means) logs[name] = mean.result();
}

void Model::Training::reset() {
  for (auto& [name, mean] : means) mean.reset();
}

}  // namespace espalier
