#include "train/metric.h"

#include <cmath>
#include <limits>

#include "base/find_named.h"
#include "base/shortest.h"
#include "eager/row_weight.h"
#include "espalier/array.h"
#include "espalier/losses.h"
#include "espalier/observe.h"
#include "nn/build_transaction.h"
#include "train/rows.h"

namespace espalier {
namespace {

struct Known {
  const char* name;
  Metric (*make)(const std::string& name);
};
// The second name of a metric is also what logs call it, as in Keras.
constexpr Known kKnown[] = {
    {kAutoMetric, metrics::Accuracy},
    {"accuracy", metrics::Accuracy},
    {"acc", metrics::Accuracy},
    {"binary_accuracy", [](const std::string& name) { return metrics::BinaryAccuracy({.name = name}); }},
    {"categorical_accuracy", metrics::CategoricalAccuracy},
    {"sparse_categorical_accuracy", metrics::SparseCategoricalAccuracy},
    {"top_k_categorical_accuracy",
     [](const std::string& name) { return metrics::TopKCategoricalAccuracy({.name = name}); }},
    {"sparse_top_k_categorical_accuracy",
     [](const std::string& name) { return metrics::TopKCategoricalAccuracy({.name = name}); }},
    {"mean", metrics::Mean},
    {"precision", [](const std::string& name) { return metrics::Precision({.name = name}); }},
    {"recall", [](const std::string& name) { return metrics::Recall({.name = name}); }},
    {"auc", [](const std::string& name) { return metrics::AUC({.name = name}); }},
    {"mean_absolute_error", metrics::MeanAbsoluteError},
    {"mae", metrics::MeanAbsoluteError},
    {"mean_squared_error", metrics::MeanSquaredError},
    {"mse", metrics::MeanSquaredError},
    {"root_mean_squared_error", metrics::RootMeanSquaredError},
    {"rmse", metrics::RootMeanSquaredError},
    {"r2_score", metrics::R2Score},
    {"r2", metrics::R2Score},
};

// Sums of single batches are f32; those of all go on beyond 2^24, where f32 has no place for one row more.
constexpr DType kSumOfBatches = DType::kF64;

}  // namespace

Tensor checked_weights(const Tensor& weights, const Tensor& outputs) {
  if (outputs.rank() == 0)
    throw ShapeError("metric.outputs", cat("outputs must be [batch, ...], got ", outputs.type()));
  const Shape rows{outputs.size(0)};
  if (!weights.defined()) return full(rows, 1);
  if (weights.shape() != rows) {
    throw ShapeError("metric.weights", cat("weights must be one a row of outputs: weights ", weights.type(),
                                           ", outputs ", outputs.type()));
  }
  if (!is_float(weights.dtype())) {
    throw DTypeError("metric.weights", cat("weights must be floating-point numbers, got ", weights.type()),
                     "convert(weights, DType::kF32)");
  }
  return convert(weights, DType::kF32);
}

Metric::Metric(const std::string& name, Location at) {
  const CallScope scope(at);
  *this = find_named("metric.name", "metric", name, kKnown).make(name);
  rule_->by_name = true;
}

const std::string& Metric::name() const { return rule_->name; }

void Metric::update(const Tensor& labels, const Tensor& outputs, const Tensor& given, Location at) {
  const CallScope scope(at);
  const Tensor weights = given.defined() ? given : RowWeightScope::of(outputs);
  const BuildTransaction transaction;
  const Tensor checked = checked_weights(weights, outputs);
  const auto counted = [&](const Tensor& x) {
    // A metric may have no use for labels.
    return weights.defined() && x.defined() && x.rank() > 0 && x.size(0) == checked.size(0)
               ? counted_rows(x, checked)
               : x;
  };
  rule_->update(counted(labels), counted(outputs), checked);
}

double Metric::result() const { return rule_->result(); }

void Metric::reset() {
  for (const Variable& variable : rule_->variables()) clear(variable);
}

std::vector<Variable> Metric::variables() const { return rule_->variables(); }

void Metric::Rule::give_first(const std::vector<Variable>& made) const {
  if (!first) return;
  first->begin();
  for (Variable variable : made) {
    const Tensor value = first->of(variable.path(), variable);
    if (value.defined()) variable.assign(value);
  }
  first->end();
}

void require_threshold(const char* kind, double threshold) {
  if (std::isfinite(threshold)) return;
  throw ValueError(cat(kind, ".threshold"), cat("threshold must be finite, got ", shortest(threshold)));
}

Variable metric_variable(const std::string& metric, const std::string& part, const TensorType& type) {
  return Variable(full(type.shape, 0, type.dtype),
                  {.name = cat("metrics/", metric, "/", part), .trainable = false});
}

void clear(Variable variable) { variable.assign(full(variable.shape(), 0, variable.dtype())); }

RunningMean::RunningMean(const std::string& name)
    : total(metric_variable(name, "total", {kSumOfBatches, {}})),
      weight(metric_variable(name, "weight", {kSumOfBatches, {}})) {}

void RunningMean::add(const Tensor& values, const Tensor& weights) {
  constexpr int64_t kAllWhole = int64_t{1} << std::numeric_limits<float>::digits;
  const bool many = values.rank() > 0 && values.size(0) > kAllWhole;
  const LossSums sums = many ? LossSums::of(convert(values, kSumOfBatches), convert(weights, kSumOfBatches))
                             : LossSums::of(values, weights);
  add(sums);
}

void RunningMean::add(const LossSums& sums) {
  observe({.variables = {total, weight},
           .increments = {convert(sums.sum, kSumOfBatches), convert(sums.weight, kSumOfBatches)}});
}

bool RunningMean::empty() const { return weight.read().item<double>() == 0; }

double RunningMean::result() const {
  const double w = weight.read().item<double>();
  return w == 0 ? 0 : total.read().item<double>() / w;
}

}  // namespace espalier
