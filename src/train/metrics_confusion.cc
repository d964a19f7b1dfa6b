// Metrics of positives and negatives.
#include <algorithm>
#include <cmath>

#include "espalier/array.h"
#include "espalier/observe.h"
#include "train/metric.h"
#include "train/rows.h"

namespace espalier::metrics {
namespace {

// Counts go on beyond 2^24.
constexpr DType kCount = DType::kF64;

// `weights` of rows for every element of `values`.
Tensor spread(const Tensor& weights, const Tensor& values) {
  return broadcast_in_dim(convert(weights, kCount), values.shape(), {0});
}

double ratio(const Variable& part, const Variable& whole) {
  const double all = whole.read().item<double>();
  return all == 0 ? 0 : part.read().item<double>() / all;
}

// True positives as a share of the positives that are predicted, or that there are.
struct PositivesRule final : Metric::Rule {
  PositivesRule(const char* kind, const std::string& name, double threshold, bool of_predicted)
      : Rule(name),
        kind(kind),
        threshold(threshold),
        of_predicted(of_predicted),
        true_positives(metric_variable(name, "true_positives", {kCount, {}})),
        positives(metric_variable(name, of_predicted ? "predicted_positives" : "positives", {kCount, {}})) {}

  void update(const Tensor& given_labels, const Tensor& given_outputs, const Tensor& weights) override {
    const auto [labels, outputs] = rows_of_one_shape(kind, given_labels, given_outputs);
    const Tensor positive = not_equal(labels, 0), predicted = outputs > threshold;
    const Tensor every = spread(weights, outputs);
    const auto total = [&](const Tensor& which) { return sum(where(which, every, 0)); };
    observe({.variables = {true_positives, positives},
             .increments = {total(logical_and(positive, predicted)),
                            total(of_predicted ? predicted : positive)}});
  }
  double result() const override { return ratio(true_positives, positives); }
  std::vector<Variable> variables() const override { return {true_positives, positives}; }
  bool takes_probabilities() const override { return true; }
  void take_logits(bool logits) override { threshold = logits ? 0 : PrecisionOptions().threshold; }

  const char* kind;
  double threshold;
  bool of_predicted;
  Variable true_positives, positives;
};

// Counts of positives and of negatives between each two thresholds.
struct AUCRule final : Metric::Rule {
  explicit AUCRule(const AUCOptions& options)
      : Rule(options.name),
        intervals(options.num_thresholds - 1),
        from_logits(options.from_logits),
        positives(metric_variable(name, "positives", {kCount, {intervals}})),
        negatives(metric_variable(name, "negatives", {kCount, {intervals}})) {}

  void update(const Tensor& given_labels, const Tensor& given_outputs, const Tensor& weights) override {
    const auto [labels, outputs] = rows_of_one_shape("auc", given_labels, given_outputs);
    const Tensor probabilities = from_logits ? logistic(outputs) : clip(outputs, 0, 1);
    // An output that is a threshold lies below it. NaN goes to the lowest interval.
    const Tensor place = maximum(ceil(probabilities * static_cast<double>(intervals)) - 1, 0);
    const Tensor indices = reshape(convert(place, DType::kI32), {place.type().elements(), 1});
    const Tensor positive = not_equal(labels, 0), every = spread(weights, outputs);
    const auto counts = [&](const Tensor& which) {
      const Tensor share = ravel(where(which, every, 0));
      const IndexAxes axes{.collapsed = {0}, .index_map = {0}, .index_vector = 1};
      return scatter_add(full({intervals}, 0, kCount), indices, share, axes);
    };
    observe({.variables = {positives, negatives},
             .increments = {counts(positive), counts(logical_not(positive))}});
  }

  double result() const override {
    const Tensor all_positives = positives.read(), all_negatives = negatives.read();
    const auto p = all_positives.data<double>(), n = all_negatives.data<double>();
    double true_positives = 0, false_positives = 0, area = 0;
    for (size_t i = p.size(); i-- > 0;) {
      area += n[i] * (true_positives + p[i] / 2.0);
      true_positives += p[i];
      false_positives += n[i];
    }
    const double whole = true_positives * false_positives;
    return whole == 0 ? 0 : area / whole;
  }
  std::vector<Variable> variables() const override { return {positives, negatives}; }
  bool takes_probabilities() const override { return true; }
  void take_logits(bool logits) override { from_logits = logits; }

  int64_t intervals;
  bool from_logits;
  Variable positives, negatives;
};

}  // namespace

Metric Precision(PrecisionOptions options, Location at) {
  const CallScope scope(at);
  require_threshold("precision", options.threshold);
  return Metric(std::make_shared<PositivesRule>("precision", options.name, options.threshold, true));
}

Metric Recall(RecallOptions options, Location at) {
  const CallScope scope(at);
  require_threshold("recall", options.threshold);
  return Metric(std::make_shared<PositivesRule>("recall", options.name, options.threshold, false));
}

Metric AUC(AUCOptions options, Location at) {
  const CallScope scope(at);
  if (options.num_thresholds < 2 || options.num_thresholds > 1'000'000) {
    throw ValueError("auc.num_thresholds",
                     cat("num_thresholds must lie in [2, 1000000], got ", options.num_thresholds));
  }
  return Metric(std::make_shared<AUCRule>(options));
}

}  // namespace espalier::metrics
