#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "plan/plan.h"

namespace espalier {
namespace {

TEST(PlanMetrics, TheSecondOfTwoClassesIsPositive) {
  // Probabilities of the second class: 0.9, 0.6, 0.4, 0.1 of rows 1, 0, 1, 0: of four pairs three are in
  // order.
  std::vector<float> logits;
  for (const double p : {0.9, 0.6, 0.4, 0.1}) {
    logits.push_back(5);
    logits.push_back(static_cast<float>(5 + std::log(p / (1 - p))));
  }
  const Tensor outputs = reshape(Tensor::of(logits), {4, 2}), labels = Tensor::of<int32_t>({1, 0, 1, 0});
  auto metrics = make_metrics({"auto", "auc", "precision", "recall"}, 2);
  for (Metric& metric : metrics) metric.update(labels, outputs);
  ASSERT_EQ(metrics.size(), 4u);
  EXPECT_EQ(metrics[0].name(), "accuracy");
  EXPECT_EQ(metrics[1].name(), "auc");
  EXPECT_NEAR(metrics[0].result(), 0.5, 1e-12);
  EXPECT_NEAR(metrics[1].result(), 0.75, 1e-12);
  EXPECT_NEAR(metrics[2].result(), 0.5, 1e-12);
  EXPECT_NEAR(metrics[3].result(), 0.5, 1e-12);
  // The same rows, told by the other class: its probabilities are 0.1, 0.4, 0.6, 0.9, and two rows are it.
  auto other = make_metrics({"auc", "precision", "recall"}, 2, 0);
  for (Metric& metric : other) metric.update(labels, Tensor(outputs), Tensor::of<float>({1, 1, 1, 2}));
  EXPECT_NEAR(other[0].result(), 5. / 6, 1e-12);
  EXPECT_NEAR(other[1].result(), 2. / 3, 1e-12);
  EXPECT_NEAR(other[2].result(), 2. / 3, 1e-12);
  // Rows that count nothing.
  for (Metric& metric : metrics) {
    metric.reset();
    metric.update(labels, outputs, Tensor::of<float>({1, 0, 1, 1}));
  }
  EXPECT_NEAR(metrics[1].result(), 1, 1e-12);
  EXPECT_NEAR(metrics[2].result(), 1, 1e-12);
}

TEST(PlanMetrics, FitWhatIsLearned) {
  const auto rule = [](const char* name, int64_t classes) {
    return rule_of([&] { make_metrics({name}, classes); });
  };
  EXPECT_TRUE(make_metrics({"auto"}, 0).empty());
  EXPECT_EQ(make_metrics({"r2_score", "mean_absolute_error"}, 0).size(), 2u);
  EXPECT_EQ(rule("accuracy", 0), "train.metrics");
  EXPECT_EQ(rule("auc", 0), "train.metrics");
  EXPECT_EQ(rule("auc", 3), "train.metrics");
  EXPECT_EQ(rule("r2_score", 2), "train.metrics");
}

}  // namespace
}  // namespace espalier
