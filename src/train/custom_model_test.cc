// Models with a train_step of their own, in fit.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

// What fit does by itself, written out.
struct ByHand : CustomModel {
  ByHand() : CustomModel("by_hand") {}
  Tensor call(const Tensor& x) override { return output(dropout(hidden(x))); }
  LossSums train_step(const TrainRows& rows) override {
    GradientTape tape;
    const Tensor out = (*this)(rows.x[0]);
    const LossSums sums = loss.sums(rows.y[0], out, rows.weight);
    const Tensor weight = strategy::all_reduce({sums.weight})[0];
    const auto weights = trainable_variables();
    own.apply(strategy::all_reduce(tape.gradient(sums.sum / weight, weights)), weights);
    accuracy.update(rows.y[0], out, rows.weight);
    return sums;
  }
  std::vector<Metric> step_metrics() const override { return {accuracy}; }
  std::vector<Optimizer> step_optimizers() const override { return {own}; }

  Dense hidden{{.units = 8, .activation = "relu"}}, output{{.units = 2}};
  Dropout dropout{0.25};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  Optimizer own{SGD{.learning_rate = 0.1, .momentum = 0.9}};
  Metric accuracy{"accuracy"};
};
struct Usual : Model {
  Usual() : Model("by_hand") {}
  Tensor call(const Tensor& x) override { return output(dropout(hidden(x))); }
  Dense hidden{{.units = 8, .activation = "relu"}}, output{{.units = 2}};
  Dropout dropout{0.25};
};

const Tensor& rows_of_x() {
  static const Tensor x = random_normal({45, 6}, 1, 0);
  return x;
}
Tensor labels_of_x() { return convert(reduce_sum(rows_of_x(), {1}) > 0, DType::kI32); }

template <class M>
std::vector<float> fitted(M& model, const FitOptions& options) {
  std::vector<float> out;
  for (const Logs& logs : model.fit(rows_of_x(), labels_of_x(), options))
    for (const char* name : {"loss", "accuracy"}) out.push_back(static_cast<float>(logs[name]));
  for (const Variable& variable : model.trainable_variables())
    for (const float value : numbers(variable.read())) out.push_back(value);
  return out;
}

const FitOptions kOptions{.epochs = 3, .batch_size = 14, .class_weight = {{1, 2.0}}};

// Weights, losses and metrics: in one place, and in all.
std::vector<float> fitted_by_hand(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(5);
  ByHand model;
  model.compile();
  return fitted(model, kOptions);
}

TEST(CustomModels, TheStepOfFitWrittenOutIsThatOfFit) {
  const auto usual = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    Usual model;
    model.compile({.optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9}});
    return fitted(model, kOptions);
  };
  const std::vector<float> wanted = usual(strategy::OneDevice()),
                           found = fitted_by_hand(strategy::OneDevice());
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-6) << i;
  expect_as_on_one_device(fitted_by_hand, 4e-6);
  expect_equal_bits_by_shards(fitted_by_hand);
}

TEST(CustomModels, NightlyLogicalShardsHaveOneSetOfBitsOnDevicesOfAPlugin) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  expect_equal_bits_by_shards_on_plugin(fitted_by_hand);
}

TEST(CustomModels, AreTrainedEagerlyAndByBatches) {
  const auto weights = [](bool eagerly, bool by_batches) {
    set_seed(5);
    ByHand model;
    model.compile({.run_eagerly = eagerly});
    if (!by_batches) {
      fitted(model, {.epochs = 1, .batch_size = 45, .shuffle = false});
    } else {
      EXPECT_TRUE(model.train_on_batch(rows_of_x(), labels_of_x()).contains("accuracy"));
    }
    return numbers(model.trainable_variables()[0].read());
  };
  const std::vector<float> wanted = weights(false, false);
  EXPECT_EQ(weights(false, true), wanted);
  const std::vector<float> eagerly = weights(true, false);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(eagerly[i], wanted[i], 1e-5);
}

// Optimizers and metrics of its own are in the checkpoint.
TEST(CustomModels, GoOnWhereTheyWere) {
  const std::string folder = fresh_folder("custom_model");
  struct Stop final : Callback {
    explicit Stop(int64_t step) : step(step) {}
    void on_batch_end(int64_t, const Logs&) override {
      if (--step == 0) throw std::runtime_error("stopped");
    }
    int64_t step;  // 0: never
  };
  const auto run = [&](int64_t stop, const std::string& path) {
    set_seed(5);
    ByHand model;
    model.compile();
    FitOptions options = kOptions;
    options.callbacks = {BackupAndRestore({.path = path, .save_freq = 1}), std::make_shared<Stop>(stop)};
    try {
      fitted(model, options);
    } catch (const std::runtime_error&) {
    }
    std::vector<float> out;
    for (const Variable& variable : model.variables())
      for (const float value : numbers(variable.read())) out.push_back(value);
    out.push_back(static_cast<float>(model.accuracy.result()));
    return out;
  };
  const std::vector<float> wanted = run(0, folder + "/whole");
  for (const int64_t stop : {1, 4, 7}) {
    const std::string path = cat(folder, "/", stop);
    run(stop, path);
    EXPECT_EQ(run(0, path), wanted) << stop;
  }
}

TEST(CustomModels, WhatIsOfFitsOwnStepIsRefused) {
  const auto rule = [](const ModelOptions& options) { return rule_of([&] { ByHand().compile(options); }); };
  EXPECT_EQ(rule({.check_numerics = true}), "fit.train_step");
  EXPECT_EQ(rule({.loss_scale = LossScale{}}), "fit.train_step");
  EXPECT_EQ(rule({.logical_shards = 4}), "fit.train_step");
  EXPECT_EQ(rule({}), "nothing");
}

// Callbacks set the rate of compile()'s optimizer, which a step with its own may not use.
TEST(CustomModels, ARateThatNoStepTakesIsRefused) {
  const auto rate = [](const std::shared_ptr<Callback>& callback, bool own) {
    set_seed(5);
    ByHand model;
    model.compile(own ? ModelOptions{.optimizer = model.own} : ModelOptions{});
    model.fit(rows_of_x(), labels_of_x(), {.epochs = 3, .batch_size = 14, .callbacks = {callback}});
    return model.own.learning_rate().read().item<float>();
  };
  const auto halved = LearningRateScheduler([](int, double now) { return now / 2; });
  EXPECT_EQ(rule_of([&] { rate(halved, false); }), "learning_rate_scheduler.optimizer");
  EXPECT_EQ(rate(halved, true), 0.1f / 8);
  const auto plateau = ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 1e9});
  EXPECT_EQ(rule_of([&] { rate(plateau, false); }), "reduce_lr_on_plateau.optimizer");
  EXPECT_EQ(rate(plateau, true), 0.1f / 4);
}

}  // namespace
}  // namespace espalier
