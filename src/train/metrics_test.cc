#include "espalier/metrics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

Metric make_metric(const std::string& name, const json& a) {
  const bool plain = a.empty();
  if (name == "accuracy") return name;
  if (name == "BinaryAccuracy")
    return plain ? metrics::BinaryAccuracy() : metrics::BinaryAccuracy({.threshold = a.at("threshold")});
  if (name == "SparseCategoricalAccuracy") return metrics::SparseCategoricalAccuracy();
  if (name == "CategoricalAccuracy") return metrics::CategoricalAccuracy();
  if (name == "TopKCategoricalAccuracy" || name == "SparseTopKCategoricalAccuracy")
    return plain ? metrics::TopKCategoricalAccuracy() : metrics::TopKCategoricalAccuracy({.k = a.at("k")});
  if (name == "Precision")
    return plain ? metrics::Precision() : metrics::Precision({.threshold = a.at("thresholds")});
  if (name == "Recall") return plain ? metrics::Recall() : metrics::Recall({.threshold = a.at("thresholds")});
  if (name == "AUC") {
    if (plain) return metrics::AUC();
    metrics::AUCOptions options;
    take_argument(a, "num_thresholds", options.num_thresholds);
    take_argument(a, "from_logits", options.from_logits);
    return metrics::AUC(options);
  }
  if (name == "MeanAbsoluteError") return metrics::MeanAbsoluteError();
  if (name == "MeanSquaredError") return metrics::MeanSquaredError();
  if (name == "RootMeanSquaredError") return metrics::RootMeanSquaredError();
  if (name == "R2Score") return metrics::R2Score();
  if (name == "Mean") return metrics::Mean();
  throw std::runtime_error(name);
}

void expect_results(const json& c, bool traced) {
  SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump() + (traced ? " traced" : " eager"));
  Metric metric = make_metric(c.at("class"), c.at("arguments"));
  const auto step = function([&](const Tensor& y, const Tensor& outputs, const Tensor& weights) {
    metric.update(y, outputs, weights);
    return std::vector<Tensor>{};
  });
  for (const bool again : {false, true}) {
    for (const json& batch : c.at("batches")) {
      const Tensor outputs = golden_array(batch.at("outputs"));
      const Tensor labels = batch.contains("labels") ? golden_array(batch.at("labels")) : outputs;
      const json& weights = batch.at("weights");
      const Tensor w = weights.is_null() ? Tensor() : golden_array(weights);
      if (traced) {
        step(labels, outputs, w.defined() ? w : full({outputs.size(0)}, 1));
      } else {
        metric.update(labels, outputs, w);
      }
      const double expected = batch.at("result");
      EXPECT_NEAR(metric.result(), expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << (again ? "again" : "");
    }
    metric.reset();
  }
}

TEST(Metrics, AreKerasAfterEveryBatch) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("metrics")) {
    expect_results(c, false);
    expect_results(c, true);
  }
  EXPECT_EQ(golden.at("metrics").size(), 62u);
}

// As if the row were cut: no metric has heard of it.
TEST(Metrics, WhatARowOfWeightZeroHoldsReachesNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor weights = Tensor::of<float>({0, 2, 1, 0}), counted = Tensor::of<int32_t>({1, 2});
  const auto check = [&](const auto& make, const Tensor& labels, const Tensor& outputs) {
    Metric all = make(), own = make();
    all.update(labels, outputs, weights);
    own.update(take(labels, counted), take(outputs, counted), take(weights, counted));
    EXPECT_EQ(all.result(), own.result()) << all.name();
    EXPECT_TRUE(std::isfinite(all.result())) << all.name();
  };
  const Tensor outputs = Tensor::of<float>({nan, inf, 0.7f, 0.3f, 0.1f, 0.9f, -inf, nan}, {4, 2});
  const Tensor shares = Tensor::of<float>({nan, 7, 1, 0, 0, 0.5f, inf, nan}, {4, 2});
  for (const char* name :
       {"accuracy", "binary_accuracy", "categorical_accuracy", "top_k_categorical_accuracy", "mean",
        "precision", "recall", "auc", "mae", "mse", "rmse", "r2"})
    check([&] { return Metric(name); }, shares, outputs);
  for (const char* name : {"accuracy", "sparse_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
    check([&] { return Metric(name); }, Tensor::of<int32_t>({-1, 0, 1, 99}), outputs);
  const auto of_user = [](const Tensor&, const Tensor& out) { return log(reduce_sum(out, {1})); };
  check([&] { return metrics::MeanMetricWrapper("log", of_user); }, shares, outputs);
  Metric squares = metrics::MeanSquaredError();
  squares.update(Tensor::of<float>({nan, 1}), Tensor::of<float>({2, 3}), Tensor::of<float>({0, 1}));
  EXPECT_EQ(squares.result(), 4);
}

// Labels and outputs in halves and weights in quarters: every sum is exact.
TEST(Metrics, PartsGiveWhatTheWholeGives) {
  constexpr int64_t kRows = 24, kWidth = 4;
  std::vector<float> outputs, labels, weights;
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    outputs.push_back(static_cast<float>(i * 7 % 5) / 4);
    labels.push_back(static_cast<float>(i * 3 % 7 < 3));
  }
  for (int64_t i = 0; i < kRows; ++i) weights.push_back(static_cast<float>(i % 6) / 4);
  const Tensor x = Tensor::of(outputs, {kRows, kWidth}), y = Tensor::of(labels, {kRows, kWidth});
  const Tensor w = Tensor::of(weights);
  const auto rows = [](const Tensor& t, int64_t from, int64_t to) {
    Dims start = Dims::filled(t.rank(), 0), limit = t.shape();
    start[0] = from, limit[0] = to;
    return slice(t, start, limit);
  };
  for (const char* name :
       {"accuracy", "binary_accuracy", "categorical_accuracy", "top_k_categorical_accuracy", "precision",
        "recall", "auc", "mae", "mse", "root_mean_squared_error", "rmse", "r2_score", "r2"}) {
    Metric whole = name, parts = name;
    whole.update(y, x, w);
    for (const auto& [from, to] : {std::pair{0, 1}, {1, 9}, {9, 10}, {10, 24}})
      parts.update(rows(y, from, to), rows(x, from, to), rows(w, from, to));
    EXPECT_EQ(parts.result(), whole.result()) << name;
    EXPECT_EQ(parts.name(), name);
    parts.reset();
    for (const Variable& variable : parts.variables())
      EXPECT_EQ(
          convert(reduce_max(abs(variable), Dims::range(variable.shape().size())), DType::kF32).item<float>(),
          0)
          << variable.path();
  }
}

TEST(Metrics, RowsOfWeightZeroCountForNothing) {
  const Tensor y = Tensor::of<float>({0, 1, 1, 0}), x = Tensor::of<float>({0.2f, 0.9f, 0.1f, 0.4f});
  const Tensor more_y = Tensor::of<float>({0, 1, 1, 0, 1, 0}),
               more_x = Tensor::of<float>({0.2f, 0.9f, 0.1f, 0.4f, 0.7f, 0.6f});
  for (const char* name : {"accuracy", "precision", "recall", "auc", "mae", "r2_score"}) {
    Metric some = name, all = name;
    some.update(y, x);
    all.update(more_y, more_x, Tensor::of<float>({1, 1, 1, 1, 0, 0}));
    EXPECT_EQ(some.result(), all.result()) << name;
  }
}

TEST(Metrics, NaNIsNeverRightAndBelowEveryThreshold) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Metric binary = "binary_accuracy", categorical = "categorical_accuracy",
         top = metrics::TopKCategoricalAccuracy({.k = 3}), auc = "auc", precision = "precision";
  const Tensor y = Tensor::of<float>({0, 1, 1, 0}), x = Tensor::of<float>({nan, nan, 0.8f, 0.1f});
  binary.update(y, x);
  EXPECT_EQ(binary.result(), 0.5);
  precision.update(y, x);
  EXPECT_EQ(precision.result(), 1);
  auc.update(y, x);
  EXPECT_EQ(auc.result(), 0.625);  // of the four pairs two are in order, one is a tie, one is not
  categorical.update(Tensor::of<float>({0, 1, 0, 1}, {2, 2}), Tensor::of<float>({1, nan, 0, 1}, {2, 2}));
  EXPECT_EQ(categorical.result(), 0.5);
  top.update(Tensor::of<int32_t>({0, 1}), Tensor::of<float>({1, nan, 2, 3, 1, 2}, {2, 3}));
  EXPECT_EQ(top.result(), 0.5);
  top.reset();
  top.update(Tensor::of<int32_t>({-1, 3}), Tensor::of<float>({1, 1, 2, 3, 1, 2}, {2, 3}));
  EXPECT_EQ(top.result(), 0);
}

TEST(Metrics, R2ScoreOfLabelsFarFromZero) {
  // In f32 the sum of squares would have no digit left for the distances.
  Metric r2 = "r2_score";
  std::vector<float> labels, outputs;
  for (int i = 0; i < 1000; ++i) {
    labels.push_back(2000.0f + static_cast<float>(i % 4));
    outputs.push_back(labels.back() + (i % 2 ? 0.5f : -0.5f));
  }
  for (int part = 0; part < 10; ++part) r2.update(Tensor::of(labels), Tensor::of(outputs));
  EXPECT_NEAR(r2.result(), 1 - 0.25 / 1.25, 1e-9);
}

TEST(Metrics, R2ScoreOfLabelsThatAreAllEqual) {
  // 0.1 is no number of f64: sums of its squares leave something over.
  for (const bool weighted : {false, true}) {
    Metric r2 = "r2_score";
    const Tensor labels = full({7, 1}, 0.1), outputs = reshape(linspace(0, 1, 7), {7, 1});
    const Tensor padded = concatenate({full({1, 1}, 5), slice(labels, {1, 0}, {7, 1})}, 0);
    const Tensor weights = Tensor::of<float>({0, 0.3f, 1, 2, 0.7f, 1, 3});
    for (int part = 0; part < 3; ++part) {
      weighted ? r2.update(padded, outputs, weights) : r2.update(labels, outputs);
      EXPECT_EQ(r2.result(), 0);
    }
  }
}

TEST(Metrics, R2ScoreOfEqualLabelsThatAreMetIsOne) {
  Metric r2 = "r2_score";
  for (int part = 0; part < 2; ++part) {
    r2.update(full({3, 1}, 0.1), full({3, 1}, 0.1));
    EXPECT_EQ(r2.result(), 1);
  }
  // Of two outputs, one that is met and one that is not.
  Metric two = "r2_score";
  two.update(full({3, 2}, 2), Tensor::of<float>({2, 2, 2, 2, 2, 3}, {3, 2}));
  EXPECT_EQ(two.result(), 0.5);
  Metric none = "r2_score";
  EXPECT_TRUE(std::isnan(none.result()));
}

TEST(Metrics, CountsGoOnBeyondWhatAFloatHolds) {
  const Tensor y = full({1, 1}, 1), x = full({1, 1}, 0.9);
  for (const char* name : {"auc", "precision", "recall"}) {
    Metric metric = name;
    metric.update(y, x, Tensor::of<float>({1 << 24}));
    metric.update(y, x);
    double most = 0;
    for (const Variable& variable : metric.variables()) {
      for (const double count : variable.read().to_vector<double>()) most = std::max(most, count);
    }
    EXPECT_EQ(most, (1 << 24) + 1) << name;
  }
}

// 2^24 right rows, then wrong ones in batches that f32 would have no place for beside them.
TEST(Metrics, MeansGoOnBeyondWhatAFloatHolds) {
  const Tensor y = full({1, 1}, 1), right = full({1, 1}, 1), wrong = full({1, 1}, 0);
  for (const char* name : {"binary_accuracy", "accuracy", "mean", "mae", "mse"}) {
    const bool share = std::string(name) == "binary_accuracy" || std::string(name) == "accuracy";
    Metric metric = name;
    metric.update(y, right, Tensor::of<float>({1 << 24}));
    for (int i = 0; i < 100; ++i) metric.update(y, wrong);
    const double all = (1 << 24) + 100, ones = share || std::string(name) == "mean" ? 1 << 24 : 100;
    EXPECT_DOUBLE_EQ(metric.result(), ones / all) << name;
  }
}

TEST(Metrics, SlowTheRowsOfOneBatchMayBeAsMany) {
  Metric mean = "mean";
  const int64_t many = (1 << 24) + 1;
  mean.update({}, ones({many}));
  EXPECT_EQ(mean.variables()[1].read().item<double>(), static_cast<double>(many));
}

TEST(Metrics, TheLossOfARunCountsEveryRow) {
  const Tensor x = full({4, 1}, 1), y = full({4, 1}, 0);
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})};
  model.compile({.optimizer = SGD{.learning_rate = 0}, .loss = MeanSquaredError(), .metrics = {"mae"}});
  const std::vector<float> weights = {1 << 24, 1, 1, 1};
  const Tensor labels = Tensor::of<float>({1, 0, 0, 0}, {4, 1});
  const auto logs = model.fit(
      x, labels, {.epochs = 1, .batch_size = 1, .shuffle = false, .sample_weight = Tensor::of(weights)})[0];
  const double all = (1 << 24) + 3;
  EXPECT_DOUBLE_EQ(logs.at("loss"), 3 / all);
  EXPECT_DOUBLE_EQ(logs.at("mae"), 3 / all);
}

TEST(Metrics, OfNothing) {
  for (const char* name : {"accuracy", "precision", "recall", "auc", "mae", "root_mean_squared_error"})
    EXPECT_EQ(Metric(name).result(), 0) << name;
  EXPECT_TRUE(std::isnan(Metric("r2_score").result()));
}

TEST(Metrics, WhatDoesNotFitIsRefusedAndChangesNothing) {
  const Tensor y = full({4}, 1), x = full({4, 1}, 1), wide = full({4, 3}, 1),
               classes = full({4}, 1, DType::kI32);
  const auto rule = [](const Metric& given, const Tensor& labels, const Tensor& outputs,
                       const Tensor& w = {}) {
    Metric metric = given;
    const std::string out = rule_of([&] { metric.update(labels, outputs, w); });
    for (const Variable& variable : metric.variables()) {
      const Tensor all = reduce_sum(variable, Dims::range(variable.shape().size()));
      EXPECT_EQ(convert(all, DType::kF32).item<float>(), 0) << variable.path();
    }
    return out;
  };
  for (const char* name : {"binary_accuracy", "precision", "recall", "auc", "r2_score"})
    EXPECT_EQ(rule(name, y, x), std::string(name) + ".labels");
  EXPECT_EQ(rule("accuracy", y, x), "binary_accuracy.labels");
  EXPECT_EQ(rule("accuracy", y, wide), "sparse_categorical_accuracy.labels");
  EXPECT_EQ(rule("accuracy", x, wide), "categorical_accuracy.labels");
  EXPECT_EQ(rule("categorical_accuracy", y, y), "categorical_accuracy.outputs");
  EXPECT_EQ(rule("sparse_categorical_accuracy", classes, full({4, 0}, 1)),
            "sparse_categorical_accuracy.outputs");
  EXPECT_EQ(rule("top_k_categorical_accuracy", y, wide), "top_k_categorical_accuracy.labels");
  EXPECT_EQ(rule("mse", y, x), "mean_squared_error.labels");
  EXPECT_EQ(rule("mae", y, full({4}, 1, DType::kI32)), "mean_absolute_error.outputs");
  EXPECT_EQ(rule("auc", y, y, full({3}, 1)), "metric.weights");
  EXPECT_EQ(rule("auc", y, y, full({4}, 1, DType::kI32)), "metric.weights");
  EXPECT_EQ(rule("mean_absolute_error", full({}, 1), full({}, 1)), "metric.outputs");
  EXPECT_EQ(
      rule(metrics::MeanMetricWrapper("mine", [](const Tensor&, const Tensor& outputs) { return outputs; }),
           x, x),
      "metric.values");

  Metric r2 = "r2_score";
  r2.update(wide, wide);
  EXPECT_EQ(rule_of([&] { r2.update(x, x); }), "r2_score.outputs");

  EXPECT_EQ(rule_of([] { Metric("acuracy"); }), "metric.name");
  EXPECT_EQ(rule_of([] { metrics::TopKCategoricalAccuracy({.k = 0}); }), "top_k_categorical_accuracy.k");
  for (const int64_t bad : {-1, 1, 1'000'001})
    EXPECT_EQ(rule_of([&] { metrics::AUC({.num_thresholds = bad}); }), "auc.num_thresholds");
  EXPECT_EQ(rule_of([] { metrics::MeanMetricWrapper("mine", nullptr); }), "metric.function");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rule_of([&] { metrics::BinaryAccuracy({.threshold = nan}); }), "binary_accuracy.threshold");
  EXPECT_EQ(rule_of([&] { metrics::Precision({.threshold = nan}); }), "precision.threshold");
  EXPECT_EQ(rule_of([&] { metrics::Recall({.threshold = nan}); }), "recall.threshold");
}

TEST(Metrics, FitAndEvaluateTakeThemByNameAndAsObjects) {
  set_seed(1);
  std::vector<float> x, y;
  for (int i = 0; i < 200; ++i) {
    const float a = std::sin(static_cast<float>(i) * 1.7f), b = std::cos(static_cast<float>(i) * 0.9f);
    x.insert(x.end(), {a, b});
    y.push_back(static_cast<float>(a + b > 0));
  }
  const Tensor inputs = Tensor::of(x, {200, 2}), labels = Tensor::of(y, {200, 1});
  Sequential model{Dense({.units = 1, .activation = "sigmoid"})};
  const Metric kept = metrics::Recall({.threshold = 0.3, .name = "recall_at_0.3"});
  model.compile({.optimizer = Adam{.learning_rate = 0.05},
                 .loss = BinaryCrossentropy(),
                 .metrics = {"accuracy", "auc", kept, metrics::MeanAbsoluteError(), "r2_score"}});
  const auto history =
      model.fit(inputs, labels, {.epochs = 20, .validation_x = inputs, .validation_y = labels});
  EXPECT_GT(history.back().at("auc"), 0.98);
  EXPECT_GT(history.back().at("r2_score"), history.front().at("r2_score"));

  // The same by hand, of the outputs.
  const Logs logs = model.evaluate(inputs, labels, 64);
  const Tensor outputs = model.predict(inputs);
  for (Metric metric : {Metric("accuracy"), Metric("auc"), metrics::MeanAbsoluteError(), Metric("r2_score"),
                        metrics::Recall({.threshold = 0.3, .name = "recall_at_0.3"})}) {
    metric.update(labels, outputs);
    EXPECT_NEAR(logs.at(metric.name()), metric.result(), 1e-6) << metric.name();
    EXPECT_NEAR(history.back().at("val_" + metric.name()), metric.result(), 1e-6) << metric.name();
  }
  EXPECT_EQ(logs.at("recall_at_0.3"), kept.result());
  EXPECT_EQ(logs.size(), 6u);

  EXPECT_EQ(rule_of([&] { model.compile({.metrics = {"mae", "mae"}}); }), "metric.name");
  EXPECT_EQ(rule_of([&] { model.compile({.metrics = {metrics::AUC({.name = "loss"})}}); }), "metric.name");
}

TEST(Metrics, MeanAndTopKOfClassNumbersHaveTheNamesOfKeras) {
  Metric mean("mean"), top("sparse_top_k_categorical_accuracy");
  EXPECT_EQ(mean.name(), "mean");
  EXPECT_EQ(top.name(), "sparse_top_k_categorical_accuracy");
  mean.update(Tensor(), Tensor::of<float>({1, 2, 6}), Tensor::of<float>({1, 1, 2}));
  EXPECT_EQ(mean.result(), 3.75);
  // Of six classes the first five are right.
  const Tensor outputs = broadcast_to(Tensor::of<float>({6, 5, 4, 3, 2, 1}), {6, 6});
  top.update(convert(iota({DType::kI32, {6}}, 0), DType::kI32), outputs);
  EXPECT_FLOAT_EQ(static_cast<float>(top.result()), 5.0f / 6);
}

TEST(Metrics, AreAccuracyOfClassesAndNoneOfNumbersWhenNobodyAsks) {
  const auto names = [](const Loss& loss, const Tensor& y) {
    Sequential model{Dense({.units = 2, .activation = "sigmoid"})};
    model.compile({.loss = loss});
    std::vector<std::string> out;
    for (const auto& [name, value] : model.evaluate(full({2, 3}, 1), y)) out.push_back(name);
    return out;
  };
  using Names = std::vector<std::string>;
  const Tensor classes = Tensor::of<int32_t>({0, 1}), numbers = full({2, 2}, 1);
  EXPECT_EQ(names(SparseCategoricalCrossentropy(), classes), (Names{"accuracy", "loss"}));
  EXPECT_EQ(names(BinaryCrossentropy(), numbers), (Names{"accuracy", "loss"}));
  for (const Loss& loss : {MeanSquaredError(), MeanAbsoluteError(), Huber()})
    EXPECT_EQ(names(loss, numbers), Names{"loss"}) << loss.name;
}

TEST(Metrics, ARefusedFitLeavesNoSums) {
  const Tensor x = full({4, 2}, 1);
  Sequential model{Dense({.units = 2})};
  Metric r2 = "r2_score";
  model.compile({.loss = MeanSquaredError(),
                 .metrics = {r2, "top_k_categorical_accuracy", "sparse_categorical_accuracy"}});
  EXPECT_EQ(rule_of([&] { model.fit(x, full({4, 2}, 1)); }), "sparse_categorical_accuracy.labels");
  EXPECT_TRUE(r2.variables().empty());
}

}  // namespace
}  // namespace espalier
