#include "train/fit_rows.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/callbacks.h"
#include "espalier/dataset.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "espalier/tape.h"
#include "train/given_test.h"

namespace espalier {
namespace {

// Rows numbered from 0.
Tensor fit_rows_counting(int64_t rows) { return convert(iota({DType::kI32, {rows, 1}}, 0), DType::kF32); }
Tensor fit_rows_zeros_of(int64_t rows) { return full({rows}, 0, DType::kI32); }

std::vector<std::vector<float>> batches(const Rows& rows, const FitOptions& options, int count) {
  Passes passes(rows, options, RunContext::current().pool);
  std::vector<std::vector<float>> out;
  for (int i = 0; i < count; ++i) out.push_back(passes.next()[0].to_vector<float>());
  return out;
}

// What workers compare before they train.
TEST(FitRows, TheContentFollowsFromEachArray) {
  const Tensor zeros = fit_rows_zeros_of(3), counted = fit_rows_counting(3), others = counted * 2;
  const auto content = [](const Tensor& x, const Tensor& y) {
    return content_of({.arrays = {x, y}, .count = 3});
  };
  EXPECT_EQ(content(counted, zeros), content(fit_rows_counting(3), fit_rows_zeros_of(3)));
  EXPECT_NE(content(counted, zeros), content(others, zeros));
  EXPECT_NE(content(zeros, counted), content(zeros, others));
  EXPECT_NE(content(counted, others), content(others, counted));
}

TEST(FitRows, PassesGoOnWhereTheLastEpochStopped) {
  const FitOptions options{.batch_size = 2, .shuffle = false, .steps_per_epoch = 2};
  const FitRows rows(fit_rows_counting(5), fit_rows_zeros_of(5), options);
  EXPECT_EQ(batches(rows.training, options, 5),
            (std::vector<std::vector<float>>{{0, 1}, {2, 3}, {4}, {0, 1}, {2, 3}}));
  Passes resumed(rows.training, options, RunContext::current().pool);
  resumed.restore(1, 1, {});
  EXPECT_EQ(resumed.next()[0].to_vector<float>(), (std::vector<float>{0, 1}))
      << "the fourth batch of the run";
  Passes passes(rows.training, options, RunContext::current().pool);
  EXPECT_EQ(passes.batches(), 3);
  EXPECT_EQ(passes.examples(2), 4);
  EXPECT_EQ(passes.examples(3), 5);
  EXPECT_EQ(passes.examples(7), 12);
}

TEST(FitRows, AContinuedRunSeesTheSameBatches) {
  set_seed(4);
  for (const int steps : {0, 2, 5}) {
    FitOptions options{.batch_size = 3, .steps_per_epoch = steps};
    const FitRows rows(fit_rows_counting(10), fit_rows_zeros_of(10), options);
    const int a_epoch = steps ? steps : 4;
    const auto all = batches(rows.training, options, 6 * a_epoch);
    options.initial_epoch = 3;
    const auto rest = batches(rows.training, options, 3 * a_epoch);
    EXPECT_EQ(rest, std::vector<std::vector<float>>(all.begin() + 3 * a_epoch, all.end())) << steps;
    EXPECT_NE(all[0], all[4]) << "passes have orders of their own";
  }
}

TEST(FitRows, TheLastRowsValidate) {
  const FitOptions options{.validation_split = 0.3, .sample_weight = full({10}, 2)};
  const FitRows rows(fit_rows_counting(10), fit_rows_zeros_of(10), options);
  EXPECT_EQ(rows.training.numbers(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows.validation.numbers(), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_TRUE(rows.validation.weighted);
  for (const double split : {-0.1, 0.01, 0.99, 1.0, 7.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(
        rule_of([&] { FitRows(fit_rows_counting(10), fit_rows_zeros_of(10), {.validation_split = split}); }),
        split == 0.01 ? "nothing" : "fit.validation")
        << split;
  }
}

TEST(FitRows, ClassesInOnePartAloneAreNamed) {
  const auto notes = [](const std::vector<int32_t>& labels, double split) {
    const auto rows = static_cast<int64_t>(labels.size());
    return FitRows(fit_rows_counting(rows), Tensor::of(labels), {.validation_split = split}).notes;
  };
  std::vector<int32_t> sorted;
  for (int i = 0; i < 40; ++i) sorted.push_back(i / 10);
  const auto of_sorted = notes(sorted, 0.4);  // 0 to 2 train, 2 and 3 validate
  ASSERT_EQ(of_sorted.size(), 2u);
  EXPECT_TRUE(of_sorted[0].starts_with("class 3 of the labels: no row among the training rows;"));
  EXPECT_TRUE(of_sorted[1].starts_with("classes 0, 1 of the labels: no row among the validation rows;"));
  std::vector<int32_t> mixed;
  for (int i = 0; i < 40; ++i) mixed.push_back(i % 4);
  EXPECT_TRUE(notes(mixed, 0.4).empty());
  EXPECT_TRUE(notes(sorted, 0).empty());
  std::vector<int32_t> counts;
  for (int i = 0; i < 40; ++i) counts.push_back(i);
  EXPECT_TRUE(notes(counts, 0.5).empty()) << "numbers, no classes";
  EXPECT_TRUE(FitRows(fit_rows_counting(40), full({40, 1}, 1), {.validation_split = 0.5}).notes.empty());
}

TEST(FitRows, ClassesHaveWeights) {
  const Tensor y = Tensor::of<int32_t>({0, 2, 1, 2});
  const FitOptions options{.validation_split = 0.5, .class_weight = {{2, 5}, {0, 0.5}}};
  const FitRows rows(fit_rows_counting(4), y, options);
  EXPECT_EQ(rows.training.arrays.at(2).to_vector<float>(), (std::vector<float>{0.5, 5, 1, 5}));
  EXPECT_FALSE(rows.validation.weighted);
}

// Keras takes the largest number of a row; of numbers alone it takes the whole ones.
TEST(FitRows, ClassesOfLabelsAreNumbersOfAnyTypeOrOneAmongZeros) {
  const std::vector<float> expected = {0.5, 5, 1, 5};
  const Tensor classes = Tensor::of<int32_t>({0, 2, 1, 2});
  for (const Tensor& y : {convert(classes, DType::kF32), reshape(convert(classes, DType::kF32), {4, 1}),
                          one_hot(classes, 3), one_hot(classes, 3, -1, DType::kI32)}) {
    const FitRows rows(fit_rows_counting(4), y, {.class_weight = {{2, 5}, {0, 0.5}}});
    EXPECT_EQ(rows.training.arrays.at(2).to_vector<float>(), expected) << cat(y.type());
    const FitRows both(
        fit_rows_counting(4), y,
        {.class_weight = {{2, 5}, {0, 0.5}}, .sample_weight = Tensor::of<float>({2, 1, 3, 0})});
    EXPECT_EQ(both.training.arrays.size(), 3u);
    EXPECT_EQ(both.training.arrays.at(2).to_vector<float>(), (std::vector<float>{1, 5, 3, 0}))
        << cat(y.type());
  }
}

TEST(FitRows, MistakesAreNamed) {
  const Tensor x = fit_rows_counting(4), y = fit_rows_zeros_of(4);
  const auto rule = [&](const FitOptions& options) { return rule_of([&] { FitRows(x, y, options); }); };
  EXPECT_EQ(rule({.sample_weight = full({3}, 1)}), "fit.sample_weight");
  EXPECT_EQ(rule({.sample_weight = full({4, 1}, 1)}), "fit.sample_weight");
  EXPECT_EQ(rule({.sample_weight = Tensor::of<float>({1, -1, 1, 1})}), "fit.sample_weight");
  EXPECT_EQ(rule({.sample_weight = full({4}, std::numeric_limits<double>::infinity())}), "fit.sample_weight");
  EXPECT_EQ(rule({.class_weight = {{0, -1}}}), "fit.class_weight");
  for (const Tensor& labels : {full({4}, 0.5), full({4, 2}, 1, DType::kI32), full({4, 2}, 0.5)})
    EXPECT_EQ(rule_of([&] { FitRows(x, labels, {.class_weight = {{0, 1}}}); }), "fit.class_weight");
  EXPECT_EQ(rule({.validation_x = x, .validation_y = y, .validation_split = 0.5}), "fit.validation");
  const char* const weights = "fit.validation_sample_weight";
  EXPECT_EQ(rule({.validation_sample_weight = full({4}, 1), .validation_split = 0.5}), weights);
  EXPECT_EQ(rule({.validation_x = x, .validation_y = y, .validation_sample_weight = full({3}, 1)}), weights);
  EXPECT_EQ(rule({.validation_x = x, .validation_y = y, .validation_sample_weight = full({4}, -1)}), weights);
  EXPECT_EQ(rule({.steps_per_epoch = -1}), "fit.steps_per_epoch");
  EXPECT_EQ(rule({.initial_epoch = -1}), "fit.initial_epoch");
  EXPECT_EQ(rule({.callbacks = {nullptr}}), "fit.callbacks");
}

TEST(Fit, RowsCountByTheirWeight) {
  Given model;
  const Tensor x = fit_rows_counting(4), y = Tensor::of<int32_t>({0, 0, 1, 1});
  const auto loss = [&](FitOptions options) {
    options.batch_size = 3;
    return model.fit(x, y, options)[0];
  };
  EXPECT_FLOAT_EQ(static_cast<float>(loss({}).at("loss")), 1.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(loss({.sample_weight = Tensor::of<float>({0, 1, 2, 0.5f})}).at("loss")),
                  6.5f / 3.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(loss({.class_weight = {{1, 3}}}).at("loss")), 16.0f / 8);
  EXPECT_FLOAT_EQ(
      static_cast<float>(
          loss({.class_weight = {{1, 2}}, .sample_weight = Tensor::of<float>({0, 1, 2, 0.5f})}).at("loss")),
      12.0f / 6);
  const Logs split = loss({.validation_split = 0.5, .sample_weight = Tensor::of<float>({1, 3, 1, 3})});
  EXPECT_FLOAT_EQ(static_cast<float>(split.at("loss")), 0.75f);
  EXPECT_FLOAT_EQ(static_cast<float>(split.at("val_loss")), 2.75f);
  EXPECT_FLOAT_EQ(static_cast<float>(model.train_on_batch(x, y).at("loss")), 1.5f);
  EXPECT_FLOAT_EQ(
      static_cast<float>(model.train_on_batch(x, y, Tensor::of<int32_t>({0, 0, 1, 1})).at("loss")), 2.5f);
  EXPECT_EQ(rule_of([&] { model.train_on_batch(x, fit_rows_zeros_of(3)); }), "train_on_batch.rows");
}

// What a row of weight 0 holds - no number in x, y or the layers, no class - changes no bit of a loss, metric
// or weight: all is as if others of its kind stood there.
TEST(Fit, ARowOfWeightZeroIsNotThere) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor weights = Tensor::of<float>({0, 1, 2, 0, 1, 0, 0, 0});
  using Numbers = std::vector<std::pair<std::string, double>>;
  const auto run = [&](const Loss& loss, const Tensor& x, const Tensor& y, const std::vector<Metric>& metrics,
                       bool eager, bool dataset) {
    set_seed(5);
    const int64_t units = y.rank() == 1 ? 3 : 2;
    Sequential model{Dense({.units = 4, .activation = "tanh"}), BatchNormalization(),
                     Dense({.units = units})};
    model.compile({.optimizer = Adam{}, .loss = loss, .metrics = metrics, .run_eagerly = eager});
    const Dataset batches = Dataset::from_tensor_slices({x, y, weights}).batch(5);
    const auto history = dataset
                             ? model.fit(batches, {.epochs = 3, .validation_data = batches, .weighted = true})
                             : model.fit(x, y,
                                         {.epochs = 3,
                                          .batch_size = 5,
                                          .shuffle = false,
                                          .validation_x = x,
                                          .validation_y = y,
                                          .validation_sample_weight = weights,
                                          .sample_weight = weights});
    const Logs one = model.train_on_batch(x, y, weights),
               weighted = model.evaluate(x, y, {.sample_weight = weights});
    // Those that count, alone.
    const Tensor counted = Tensor::of<int32_t>({1, 2, 4});
    const Logs alone =
        model.evaluate(take(x, counted), take(y, counted), {.sample_weight = take(weights, counted)});
    for (const auto& [name, value] : alone) EXPECT_NEAR(weighted.at(name), value, 1e-5) << name;

    Numbers out(weighted.begin(), weighted.end());
    out.insert(out.end(), one.begin(), one.end());
    for (const Logs& logs : history) out.insert(out.end(), logs.begin(), logs.end());
    const std::vector<Variable> variables = model.variables();
    for (size_t i = 0; i < variables.size(); ++i) {
      for (const float value : variables[i].read().to_vector<float>())
        out.emplace_back(cat("variable ", i), value);
    }
    for (const auto& [name, value] : out) EXPECT_TRUE(std::isfinite(value)) << name;
    return out;
  };
  // Twice: other values stand in the rows of weight 0.
  const Tensor x[] = {
      Tensor::of<float>({nan, 1, 1, 2, 2, -1, inf, nan, -1, 1, 3, nan, inf, inf, nan, 0}, {8, 2}),
      Tensor::of<float>({0, 0, 1, 2, 2, -1, 5, -7, -1, 1, 1e30f, 1e30f, nan, -inf, 0, 0}, {8, 2})};
  const Tensor classes[] = {Tensor::of<int32_t>({-1, 2, 0, 99, 1, -7, 3, 1000}),
                            Tensor::of<int32_t>({0, 2, 0, 1, 1, 2, -1, 0})};
  const Tensor shares[] = {
      Tensor::of<float>({nan, 7, 0.5f, 1, 0, 0.25f, -1, nan, 1, 1, nan, nan, 2, 3, inf, nan}, {8, 2}),
      Tensor::of<float>({0, 0, 0.5f, 1, 0, 0.25f, 1, 1, 1, 1, 1e30f, -inf, 0, nan, 0.5f, 0}, {8, 2})};
  for (const bool eager : {false, true}) {
    for (const bool dataset : {false, true}) {
      const auto twice = [&](const Loss& loss, const Tensor(&y)[2], const std::vector<Metric>& metrics) {
        const Numbers first = run(loss, x[0], y[0], metrics, eager, dataset);
        EXPECT_EQ(run(loss, x[1], y[1], metrics, eager, dataset), first);
      };
      twice(SparseCategoricalCrossentropy({.from_logits = true}), classes,
            {"accuracy", "sparse_top_k_categorical_accuracy"});
      twice(MeanSquaredError(), shares, {"mae", "rmse", "r2", metrics::Mean("mean")});
      twice(BinaryCrossentropy({.from_logits = true}), shares,
            {"binary_accuracy", "auc", "precision", "recall"});
    }
  }
}

// Against the batch without those rows, and whatever they hold: the statistics of the batch, its averages,
// the gradients through them.
TEST(Fit, ARowOfWeightZeroIsNotThereForBatchNormalization) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> counted{1, 1, 2, 2, -1, 1, 0.5f, 3}, labels{1, 0, 2, -1};
  const auto train = [](const Tensor& x, const Tensor& y, const Tensor& weights, bool eager) {
    set_seed(5);
    Sequential model{Dense({.units = 4, .activation = "tanh"}), BatchNormalization({.momentum = 0.5}),
                     Dense({.units = 1})};
    // By SGD: Adam makes the last bits of a gradient as large as the others.
    model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = MeanSquaredError(), .run_eagerly = eager});
    std::vector<std::vector<float>> out;
    for (int step = 0; step < 3; ++step)
      out.push_back({static_cast<float>(model.train_on_batch(x, y, weights).at("loss"))});
    for (const Variable& variable : model.variables()) out.push_back(variable.read().to_vector<float>());
    return out;
  };
  for (const bool eager : {false, true}) {
    const auto alone = train(Tensor::of(counted, {4, 2}), Tensor::of(labels, {4, 1}), full({4}, 1), eager);
    std::vector<std::vector<float>> first;
    for (const float filled : {0.0f, 17.0f, 1e30f, nan}) {
      // Behind the others, and between them.
      std::vector<float> x = counted, y = labels, weights{1, 1, 1, 1};
      x.insert(x.end(), 4, filled), y.insert(y.end(), 2, filled), weights.insert(weights.end(), 2, 0);
      x.insert(x.begin() + 2, 2, filled), y.insert(y.begin() + 1, filled),
          weights.insert(weights.begin() + 1, 0);
      const auto padded =
          train(Tensor::of(x, {7, 2}), Tensor::of(y, {7, 1}), Tensor::of(weights, {7}), eager);
      if (first.empty()) first = padded;
      EXPECT_EQ(padded, first) << filled;
      for (size_t i = 0; i < alone.size(); ++i) {
        float largest = 0;
        for (const float value : alone[i]) largest = std::max(largest, std::abs(value));
        for (size_t k = 0; k < alone[i].size(); ++k)
          EXPECT_NEAR(padded[i][k], alone[i][k], 1e-6 * largest) << i;
      }
    }
  }
  // A batch of none moves no average.
  Sequential model{BatchNormalization({.momentum = 0.5}), Dense({.units = 1})};
  model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
  const Tensor x = Tensor::of(counted, {4, 2}), y = Tensor::of(labels, {4, 1});
  model.train_on_batch(x, y);
  std::vector<std::vector<float>> before, after;
  for (const Variable& variable : model.variables()) before.push_back(variable.read().to_vector<float>());
  model.train_on_batch(x, y, full({4}, 0));
  for (const Variable& variable : model.variables()) after.push_back(variable.read().to_vector<float>());
  EXPECT_EQ(after, before);
}

// Takes the mean of the batch away.
struct Centred : Layer {
  Tensor call(const Tensor& x) override {
    const Tensor weight = row_weight(x);
    seen.push_back(weight.defined());
    if (!weight.defined()) return x - reduce_sum(x, {0}) / static_cast<double>(x.size(0));
    return x - reduce_sum(x * reshape(weight, {weight.size(0), 1}), {0}) / reduce_sum(weight, {0});
  }
  bool couples_rows() const override { return couples; }
  static inline std::vector<bool> seen;
  bool couples = true;
};

TEST(Fit, ALayerThatCouplesRowsSeesWhichCount) {
  const Tensor x = Tensor::of<float>({1, 3, 1000, 5}, {4, 1}), y = full({4, 1}, 0);
  const auto loss = [&](Sequential model, const Tensor& weights) {
    model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
    model.predict(x);
    Centred::seen.clear();
    return model.evaluate(x, y, {.sample_weight = weights}).at("loss");
  };
  const Tensor weights = Tensor::of<float>({1, 2, 0, 1});
  Centred centred;
  // 1, 3 and 5 less 3, by weights of 1, 2 and 1.
  EXPECT_FLOAT_EQ(static_cast<float>(loss(Sequential{centred}, weights)), 2);
  EXPECT_EQ(Centred::seen, std::vector<bool>{true});
  loss(Sequential{centred}, full({4}, 1));
  EXPECT_EQ(Centred::seen, std::vector<bool>{false});
  Centred other;
  other.couples = false;
  loss(Sequential{other}, weights);
  EXPECT_EQ(Centred::seen, std::vector<bool>{false});
  EXPECT_EQ(rule_of([&] {
              loss(Sequential{Reshape({1, 1}), Flatten(), Reshape({1}), centred}, weights);
            }),
            "nothing");
  struct Merged : Layer {
    Tensor call(const Tensor& t) override { return reshape(inside(reshape(t, {1, t.size(0)})), t.shape()); }
    Centred inside;
  };
  EXPECT_EQ(rule_of([&] { loss(Sequential{Merged()}, weights); }), "layer.row_weight");
}

TEST(Fit, RowsThatValidateAndAreEvaluatedCountByTheirWeight) {
  Given model;
  const Tensor x = fit_rows_counting(4), y = Tensor::of<int32_t>({0, 0, 1, 1});
  const Tensor weights = Tensor::of<float>({0, 1, 2, 0.5f});
  const auto number = [](double value) { return static_cast<float>(value); };
  EXPECT_FLOAT_EQ(number(model.evaluate(x, y, {.batch_size = 3, .sample_weight = weights}).at("loss")),
                  6.5f / 3.5f);
  EXPECT_FLOAT_EQ(number(model.evaluate(x, y, {.batch_size = 3}).at("loss")), 1.5f);
  const Logs logs = model.fit(
      x, y, {.batch_size = 3, .validation_x = x, .validation_y = y, .validation_sample_weight = weights})[0];
  EXPECT_FLOAT_EQ(number(logs.at("loss")), 1.5f);
  EXPECT_FLOAT_EQ(number(logs.at("val_loss")), 6.5f / 3.5f);
  const Dataset plain = Dataset::from_tensor_slices({x, y}).batch(3);
  const Logs of_dataset = model.fit(
      plain, {.batch_size = 3, .validation_x = x, .validation_y = y, .validation_sample_weight = weights})[0];
  EXPECT_FLOAT_EQ(number(of_dataset.at("val_loss")), 6.5f / 3.5f);
  EXPECT_EQ(rule_of([&] { model.evaluate(x, y, {.sample_weight = full({3}, 1)}); }),
            "evaluate.sample_weight");
  EXPECT_EQ(rule_of([&] { model.evaluate(x, y, {.weighted = true}); }), "evaluate.weighted");
  EXPECT_EQ(rule_of([&] { model.evaluate(x, y, {.batch_size = 0}); }), "evaluate.batch_size");
  EXPECT_EQ(rule_of([&] { model.evaluate(plain, {.sample_weight = weights}); }), "evaluate.sample_weight");
}

TEST(Fit, PredictRefusesRowsThatItDidNotGive) {
  struct Twice : Model {
    Tensor call(const Tensor& x) override { return concatenate({x, x}, 0); }
  };
  EXPECT_EQ(rule_of([] { Twice().predict(fit_rows_counting(4), 2); }), "predict.rows");
  const std::vector<Tensors> uneven = {{full({2, 1}, 1)}, {full({2, 2}, 1)}};
  EXPECT_EQ(rule_of([&] { join_rows(uneven, std::vector<int64_t>{2, 2}); }), "predict.rows");
}

TEST(Fit, EpochsAndStepsAreCounted) {
  Given model;
  std::vector<int> epochs;
  int64_t steps = 0;
  Callback::Run seen;
  const auto count = LambdaCallback({.on_train_begin = [&](const Callback::Run& run) { seen = run; },
                                     .on_epoch_begin = [&](int epoch) { epochs.push_back(epoch); },
                                     .on_batch_end = [&](int64_t, const Logs&) { ++steps; }});
  const auto history = model.fit(fit_rows_counting(10), fit_rows_zeros_of(10),
                                 {.epochs = 5,
                                  .batch_size = 4,
                                  .steps_per_epoch = 2,
                                  .initial_epoch = 3,
                                  .callbacks = {count, ConsoleProgress()}});
  EXPECT_EQ(history.size(), 2u);
  EXPECT_EQ(epochs, (std::vector<int>{3, 4}));
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(seen.initial_epoch, 3);
  EXPECT_EQ(seen.steps_per_epoch, 2);
  EXPECT_EQ(seen.examples, 8);
  EXPECT_EQ(seen.logs, (std::vector<std::string>{"loss"}));
  EXPECT_TRUE(
      model.fit(fit_rows_counting(2), fit_rows_zeros_of(2), {.epochs = 1, .initial_epoch = 1}).empty());
}

TEST(Fit, TrainOnBatchIsAStepOfFit) {
  const Tensor x = fit_rows_counting(6), y = Tensor::of<int32_t>({0, 1, 0, 1, 1, 0});
  const auto train = [&](bool by_fit) {
    set_seed(2);
    Sequential model{Dense({.units = 2})};
    model.compile({.optimizer = SGD{.learning_rate = 0.1}});
    for (int i = 0; i < 3; ++i) {
      if (by_fit) {
        model.fit(x, y, {.batch_size = 6, .shuffle = false});
      } else {
        model.train_on_batch(x, y);
      }
    }
    return model.variables()[0].read().to_vector<float>();
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(Fit, AStepOfOnesOwnTrainsAModel) {
  const Tensor x = fit_rows_counting(6), y = Tensor::of<int32_t>({0, 1, 0, 1, 1, 0});
  Sequential model{Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.05}});
  Optimizer optimizer = model.optimizer();
  const auto step = function([&](const Tensor& in, const Tensor& labels) {
    const TrainingScope training(true);
    GradientTape tape;
    const Tensor loss = reduce_sum(softmax_cross_entropy(model(in), labels), {0});
    const std::vector<Variable> weights = model.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  const float first = step(x, y).item<float>();
  for (int i = 0; i < 50; ++i) step(x, y);
  EXPECT_LT(step(x, y).item<float>(), first);
}

std::string fit_message(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    return cat(error.kind(), "[", error.rule(), "] ", error.message());
  }
  return "nothing";
}

TEST(FitRows, WhatHoldsNothingIsNamed) {
  Sequential model{Dense({.units = 2})};
  model.compile();
  const Tensor x = full({4, 3}, 1);
  EXPECT_EQ(fit_message([&] { model.fit(x, Tensor()); }),
            "StateError[tensor.undefined] tensor 0 of y holds nothing");
  EXPECT_EQ(fit_message([&] {
              model.predict({x, Tensor()});
            }),
            "StateError[tensor.undefined] tensor 1 of x holds nothing");
  EXPECT_EQ(fit_message([&] { model.predict(TensorList{}); }),
            "ShapeError[predict.rows] there are no rows: x is no tensor at all");
}

TEST(FitRows, AWeightOfAClassThatIsNoneIsRefusedOnceTheClassesAreKnown) {
  const Tensor x = full({4, 3}, 1), y = Tensor::of<int32_t>({0, 1, 1, 0});
  const std::string refused =
      "ValueError[fit.class_weight] class 7 has a weight and is no class: the outputs have 2, numbered from "
      "0";
  for (const bool traced : {false, true}) {
    Sequential model{Dense({.units = 2})};
    model.compile();
    if (traced) model.fit(x, y);
    EXPECT_EQ(fit_message([&] { model.fit(x, y, {.class_weight = {{0, 1.0}, {7, 2.0}}}); }), refused);
    EXPECT_EQ(fit_message([&] {
                model.fit(Dataset::from_tensor_slices({x, y}).batch(2), {.class_weight = {{7, 2.0}}});
              }),
              refused);
    EXPECT_NO_THROW(model.evaluate(x, y));
    EXPECT_NO_THROW(model.fit(x, y, {.class_weight = {{1, 2.0}}}));
  }
}

TEST(FitRows, ErrorsThatNameABatchSaySo) {
  const Tensor x = full({70, 3}, 1), y = fit_rows_zeros_of(70);
  for (const bool eagerly : {false, true}) {
    Sequential model{Dense({.units = 2})};
    model.compile({.loss = MeanSquaredError(), .metrics = {}, .run_eagerly = eagerly});
    const std::string refused =
        "ShapeError[mean_squared_error.labels] labels must have the outputs' shape, [batch, ...]: labels "
        "i32[";
    EXPECT_EQ(fit_message([&] { model.fit(x, y); }),
              refused + "32], outputs f32[32,2], in a batch of 32 of 70 rows");
    EXPECT_EQ(fit_message([&] { model.evaluate(x, y, 40); }),
              refused + "40], outputs f32[40,2], in a batch of 40 of 70 rows");
    EXPECT_EQ(fit_message([&] { model.evaluate(x, y, 70); }), refused + "70], outputs f32[70,2]");
    EXPECT_EQ(fit_message([&] { model.train_on_batch(x, y); }), refused + "70], outputs f32[70,2]");
    model.predict(x);
    const Tensor wide = full({70, 4}, 1);
    EXPECT_EQ(
        fit_message([&] { model.predict(wide, 50); }).ends_with("f32[50,4], in a batch of 50 of 70 rows"),
        true);
    EXPECT_EQ(fit_message([&] { model.predict(wide, 100); }).ends_with("f32[70,4]"), true);
  }
}

TEST(FitRows, TheFirstRowWithABadLabelIsNamed) {
  Sequential model{Dense({.units = 2})};
  model.compile();
  EXPECT_EQ(fit_message([&] {
              model.fit(full({4, 3}, 1), Tensor::of<int32_t>({0, 2, 1, 2}));
            }),
            "ValueError[fit.labels] label 2 of row 1 is no class: the outputs have 2, numbered from 0");
}

TEST(FitRows, OneUnitForClassesIsRefusedWithItsCause) {
  const Tensor x = full({4, 3}, 1);
  for (const Shape& shape : {Shape{4}, Shape{4, 1}}) {
    for (const std::vector<Metric>& metrics : {std::vector<Metric>{"auto"}, std::vector<Metric>{}}) {
      Sequential model{Dense({.units = 1})};
      model.compile({.metrics = metrics});
      EXPECT_EQ(fit_message([&] { model.fit(x, full(shape, 0, DType::kI32)); }),
                "ShapeError[sparse_categorical_crossentropy.classes] outputs need a last axis of 2 classes "
                "or more: "
                "outputs f32[4,1]");
    }
  }
}

TEST(FitRows, LabelsOfSharesLieBetween0And1) {
  const Tensor x = full({3, 2}, 1);
  const std::string refused = " is no share: loss \"binary_crossentropy\" takes labels from 0 to 1";
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = BinaryCrossentropy({.from_logits = true})});
  EXPECT_EQ(fit_message([&] {
              model.fit(x, Tensor::of<int32_t>({0, 1, 5}, {3, 1}));
            }),
            "ValueError[fit.labels] label 5 of row 2" + refused);
  EXPECT_EQ(
      fit_message([&] {
        model.evaluate(Dataset::from_tensor_slices({x, Tensor::of<float>({0, -0.5, 1}, {3, 1})}).batch(2));
      }),
      "ValueError[evaluate.labels] label -0.5 of row 1 of its batch" + refused);
  EXPECT_NO_THROW(model.fit(x, Tensor::of<float>({0, 0.5, 1}, {3, 1})));
}

TEST(FitRows, ALossMustGiveOneFloatARow) {
  const Tensor x = full({4, 3}, 1), y = fit_rows_zeros_of(4);
  const auto message = [&](std::function<Tensor(const Tensor&, const Tensor&)> loss) {
    Sequential model{Dense({.units = 2})};
    model.compile({.loss = Loss{.name = "own", .per_example = std::move(loss)}});
    return fit_message([&] { model.fit(x, y); });
  };
  EXPECT_EQ(message([](const Tensor&, const Tensor&) { return Tensor(); }),
            "ValueError[loss.function] loss \"own\" gave a tensor that holds nothing");
  EXPECT_EQ(message([](const Tensor& labels, const Tensor&) { return labels; }),
            "DTypeError[loss.dtype] loss \"own\" must give floating-point numbers: i32[4]");
}

TEST(FitRows, OptionsAreNamedWithTheFewestDigits) {
  Sequential model{Dense({.units = 2})};
  model.compile();
  EXPECT_EQ(
      fit_message([&] {
        model.fit(full({4, 3}, 1), fit_rows_zeros_of(4), {.validation_split = 1});
      }),
      "ValueError[fit.validation] validation_split must leave rows on both sides, 1 of 4 rows does not");
}

}  // namespace
}  // namespace espalier
