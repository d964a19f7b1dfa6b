// Metrics that are asked for by name take what the loss takes.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

// Gives its first input.
struct FirstInput : Model {
  Dense unused{{.units = 1}};
  Tensor call(const Tensor& x) override {
    unused(x);
    return slice(x, {0, 0}, {x.size(0), 1});
  }
};

// Four rows, their logits near 0: by sign three are right; no probability of 0.5 in sight.
const Tensor kLogits = Tensor::of<float>({0.3, -0.3, 0.3, 0.3}, {4, 1});
const Tensor kLabels = Tensor::of<float>({1, 0, 1, 0}, {4, 1});

Logs evaluated(const Loss& loss, const std::vector<Metric>& metrics, const Tensor& x = kLogits) {
  FirstInput model;
  model.compile({.loss = loss, .metrics = metrics});
  return model.evaluate(x, kLabels);
}

TEST(MetricLogits, NamesFollowTheLoss) {
  const Loss logits = BinaryCrossentropy({.from_logits = true});
  for (const char* name : {"auto", "accuracy", "acc", "binary_accuracy"}) {
    const Logs logs = evaluated(logits, {name});
    const std::string logged = std::string(name) == "auto" ? "accuracy" : name;
    EXPECT_DOUBLE_EQ(logs.at(logged), 0.75) << name;
    // Of the same numbers as probabilities none is positive.
    EXPECT_DOUBLE_EQ(evaluated(BinaryCrossentropy(), {name}).at(logged), 0.5) << name;
  }
  EXPECT_NEAR(evaluated(logits, {"precision"}).at("precision"), 2 / 3., 1e-6);
  EXPECT_DOUBLE_EQ(evaluated(logits, {"recall"}).at("recall"), 1);
  EXPECT_DOUBLE_EQ(evaluated(BinaryCrossentropy(), {"recall"}).at("recall"), 0);
  // Rows of one sign are parted by their size: below 0 all are one to probabilities.
  const Tensor below = Tensor::of<float>({-0.1, -3, -0.2, -2}, {4, 1});
  EXPECT_DOUBLE_EQ(evaluated(logits, {"auc"}, below).at("auc"), 1);
  EXPECT_DOUBLE_EQ(evaluated(BinaryCrossentropy(), {"auc"}, below).at("auc"), 0.5);
}

TEST(MetricLogits, ThresholdsThatSomebodyChoseStay) {
  const Loss logits = BinaryCrossentropy({.from_logits = true});
  EXPECT_DOUBLE_EQ(evaluated(logits, {metrics::Recall()}).at("recall"), 0);
  EXPECT_DOUBLE_EQ(evaluated(logits, {metrics::BinaryAccuracy({.threshold = 0.2})}).at("binary_accuracy"),
                   0.75);
}

// The same object under one loss and then another.
TEST(MetricLogits, AMetricThatIsUsedAgainFollowsTheNewLoss) {
  const Metric recall("recall");
  EXPECT_DOUBLE_EQ(evaluated(BinaryCrossentropy({.from_logits = true}), {recall}).at("recall"), 1);
  EXPECT_DOUBLE_EQ(evaluated(BinaryCrossentropy(), {recall}).at("recall"), 0);
}

TEST(MetricLogits, OfClassesAreNoProbabilities) {
  Sequential model{Dense({.units = 3})};
  const auto rule = [&](const char* name, bool from_logits) {
    return rule_of([&] {
      model.compile({.loss = CategoricalCrossentropy({.from_logits = from_logits}), .metrics = {name}});
    });
  };
  for (const char* name : {"auc", "precision", "recall", "binary_accuracy"}) {
    EXPECT_EQ(rule(name, true), "metric.logits") << name;
    EXPECT_EQ(rule(name, false), "nothing") << name;
  }
  for (const char* name : {"auto", "accuracy", "categorical_accuracy", "mean"})
    EXPECT_EQ(rule(name, true), "nothing") << name;
}

}  // namespace
}  // namespace espalier
