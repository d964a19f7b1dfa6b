// Metrics of a plan: Keras' names, for what is learned.
#include <algorithm>

#include "base/format.h"
#include "espalier/array.h"
#include "plan/plan.h"
#include "train/metric.h"

namespace espalier {
namespace {

// A metric of positives and negatives, of logits of two classes one of which is positive.
struct PositiveClassRule final : Metric::Rule {
  PositiveClassRule(const std::string& name, int64_t positive)
      : Rule(name), metric(name), positive(positive) {}

  void update(const Tensor& labels, const Tensor& outputs, const Tensor& weights) override {
    const Tensor logits = convert(outputs, DType::kF32);
    const auto of = [&](int64_t c) { return slice(logits, {0, c}, {logits.size(0), c + 1}); };
    metric.update(expand_dims(positive == 1 ? labels : 1 - labels, 1),
                  logistic(of(positive) - of(1 - positive)), weights);
  }
  double result() const override { return metric.result(); }
  std::vector<Variable> variables() const override { return metric.variables(); }

  Metric metric;
  int64_t positive;
};

enum class Of { kClasses, kTwoClasses, kNumbers };
struct Known {
  const char* name;
  Of of;
};
constexpr Known kKnown[] = {{"accuracy", Of::kClasses},
                            {"sparse_categorical_accuracy", Of::kClasses},
                            {"top_k_categorical_accuracy", Of::kClasses},
                            {"sparse_top_k_categorical_accuracy", Of::kClasses},
                            {"auc", Of::kTwoClasses},
                            {"precision", Of::kTwoClasses},
                            {"recall", Of::kTwoClasses},
                            {"mean_absolute_error", Of::kNumbers},
                            {"mean_squared_error", Of::kNumbers},
                            {"root_mean_squared_error", Of::kNumbers},
                            {"r2_score", Of::kNumbers}};

Metric make_metric(const std::string& name, int64_t classes, int64_t positive) {
  const Of of = std::ranges::find_if(kKnown, [&](const Known& known) { return known.name == name; })->of;
  if (of != Of::kNumbers && classes == 0)
    throw ValueError("train.metrics", cat(name, " is of classes, and the label is a number"));
  if (of == Of::kNumbers && classes > 0)
    throw ValueError("train.metrics", cat(name, " is of numbers, and the label is a class"));
  if (of == Of::kTwoClasses && classes != 2)
    throw ValueError("train.metrics", cat(name, " is of two classes, and the label has ", classes));
  return of == Of::kTwoClasses ? Metric(std::make_shared<PositiveClassRule>(name, positive)) : Metric(name);
}

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> out = {"auto"};
  for (const Known& known : kKnown) out.emplace_back(known.name);
  return out;
}

std::vector<Metric> make_metrics(const std::vector<std::string>& names, int64_t classes, int64_t positive) {
  std::vector<Metric> out;
  for (const std::string& name : names) {
    if (name != "auto")
      out.push_back(make_metric(name, classes, positive));
    else if (classes > 0)
      out.emplace_back("accuracy");
  }
  return out;
}

}  // namespace espalier
