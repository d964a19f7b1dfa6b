// Training under a loss scale.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

class LossScales : public testing::Test {
 protected:
  void TearDown() override { set_dtype_policy("float32"); }
};

using Bytes = std::vector<std::vector<std::byte>>;
Bytes saved_bytes(const std::vector<Variable>& variables) {
  Bytes out;
  for (const Variable& variable : variables) {
    const Tensor value = variable.read();
    const auto* const data = static_cast<const std::byte*>(value.bytes());
    out.emplace_back(data, data + value.type().bytes());
  }
  return out;
}

// As Keras' LossScaleOptimizer counts: three finite steps double the scale, one that overflows halves it and
// begins anew.
TEST_F(LossScales, TheScaleGrowsByFiniteStepsAndFallsByOthers) {
  for (const bool eager : {false, true}) {
    for (const bool dynamic : {true, false}) {
      Sequential model{Dense({.units = 1})};
      model.compile({.optimizer = SGD{.learning_rate = 1e-3},
                     .loss = MeanSquaredError(),
                     .run_eagerly = eager,
                     .loss_scale = LossScale{.initial = 8, .dynamic = dynamic, .growth_steps = 3}});
      const Tensor y = full({2, 1}, 1);
      const auto step = [&](double value) {
        return model.train_on_batch(full({2, 1}, value), y).at("loss_scale");
      };
      const double inf = std::numeric_limits<double>::infinity();
      std::vector<double> scales;
      for (const double value : {1.0, 1.0, 1.0, 1.0, inf, 1.0, 1.0, inf, 1.0, 1.0, 1.0})
        scales.push_back(step(value));
      const std::vector<double> wanted =
          dynamic ? std::vector<double>{8, 8, 16, 16, 8, 8, 8, 4, 4, 4, 8} : std::vector<double>(11, 8);
      EXPECT_EQ(scales, wanted) << eager;
    }
  }
}

// A scale of 0 would be the last one: twice 0 is 0, and no gradient is left.
TEST_F(LossScales, TheScaleNeverFallsToNothing) {
  Sequential model{Dense({.units = 1})};
  model.compile({.optimizer = SGD{.learning_rate = 1e-3},
                 .loss = MeanSquaredError(),
                 .loss_scale = LossScale{.initial = 8, .growth_steps = 2}});
  const Tensor x = full({2, 1}, 1), far = full({2, 1}, std::numeric_limits<double>::infinity()),
               y = full({2, 1}, 1);
  const auto scale_after = [&](const Tensor& rows, int steps) {
    double out = 0;
    for (int i = 0; i < steps; ++i) out = model.train_on_batch(rows, y).at("loss_scale");
    return out;
  };
  // 2^3 is halved 300 times; 2^-126 is the smallest that is normal.
  EXPECT_EQ(scale_after(far, 300), std::numeric_limits<float>::min());
  EXPECT_EQ(scale_after(x, 1), std::numeric_limits<float>::min());
  EXPECT_EQ(scale_after(x, 1), 2.0 * std::numeric_limits<float>::min());
  EXPECT_EQ(scale_after(x, 6), 16.0 * std::numeric_limits<float>::min());
}

// By a power of two the scaled gradient is the gradient.
TEST_F(LossScales, ScaledStepsTrainAsOthersDo) {
  for (const double clipnorm : {0.0, 0.1}) {
    const auto train = [&](std::optional<LossScale> scale) {
      set_seed(3);
      Sequential model{Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1})};
      model.compile({.optimizer = Adam{.learning_rate = 0.1, .clipnorm = clipnorm},
                     .loss = MeanSquaredError(),
                     .loss_scale = scale});
      model.fit(Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}), Tensor::of<float>({1, 0, 2}, {3, 1}),
                {.epochs = 5});
      return saved_bytes(model.variables());
    };
    EXPECT_EQ(train({}), train(LossScale{.initial = 1024, .growth_steps = 2})) << clipnorm;
  }
}

// Of a batch that overflows nothing stays: neither weights nor averages, slots, the generator, metrics.
TEST_F(LossScales, ASkippedStepChangesNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const bool eager : {false, true}) {
    for (Optimizer optimizer : std::vector<Optimizer>{
             SGD{.momentum = 0.9}, Adam{.clipnorm = 1}, AdamW{.use_ema = true},
             RMSprop{.momentum = 0.5, .centered = true}, Adagrad{.gradient_accumulation_steps = 2}}) {
      Sequential model{Dense({.units = 3}), BatchNormalization(), Dropout(0.5), Dense({.units = 1})};
      model.compile({.optimizer = optimizer,
                     .loss = MeanSquaredError(),
                     .metrics = {"mae"},
                     .run_eagerly = eager,
                     .loss_scale = LossScale{}});
      const Tensor x = Tensor::of<float>({1, 2, 3, 4}, {2, 2}), y = full({2, 1}, 1);
      const auto state = [&] {
        std::vector<Variable> out = model.variables();
        const auto own = optimizer.variables();
        out.insert(out.end(), own.begin(), own.end());
        out.push_back(default_generator().step_variable());
        return saved_bytes(out);
      };
      model.train_on_batch(x, y);
      const Bytes before = state();
      const Logs skipped = model.train_on_batch(Tensor::of<float>({1, 2, inf, 4}, {2, 2}), y);
      EXPECT_EQ(state(), before) << optimizer.rule();
      EXPECT_EQ(skipped["loss_scale"], 16384);
      // An epoch's logs are those of the steps that count.
      const auto history =
          model.fit(Dataset::from_tensor_slices(
                        {Tensor::of<float>({1, 2, 3, 4, inf, 0, 0, 1}, {4, 2}), full({4, 1}, 1)})
                        .batch(2));
      EXPECT_TRUE(std::isfinite(history[0].at("loss")) && std::isfinite(history[0].at("mae")));
      EXPECT_NE(state(), before);
    }
  }
}

// Gradients of 1e-9 are 0 in float16, and by Adam's rule as good as any.
TEST_F(LossScales, WhatUnderflowsInFloat16TrainsUnderAScale) {
  set_dtype_policy("mixed_float16");
  const auto train = [](std::optional<LossScale> scale) {
    set_seed(1);
    Sequential model{Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1})};
    model.compile({.optimizer = Adam{.learning_rate = 0.05, .epsilon = 1e-20},
                   .outputs = {{.loss = MeanSquaredError(), .loss_weight = 1e-9, .metrics = {"mse"}}},
                   .loss_scale = scale});
    const Tensor x = Tensor::of<float>({-1, -0.5f, 0, 0.5f, 1}, {5, 1});
    const auto history = model.fit(x, x * 0.5, {.epochs = 60, .shuffle = false});
    return std::pair(history.front().at("mse"), history.back().at("mse"));
  };
  const auto [first, stuck] = train(LossScale{.initial = 1, .dynamic = false});
  EXPECT_FLOAT_EQ(static_cast<float>(stuck), static_cast<float>(first));
  const auto [again, learned] = train(LossScale{.initial = std::ldexp(1.0, 26)});
  EXPECT_LT(learned, 0.05 * again);
}

// As the mean over a batch, and not by as much sooner as a batch has rows.
TEST_F(LossScales, SumsOverRowsOverflowNoSooner) {
  set_dtype_policy("mixed_float16");
  const Tensor x = random_normal({432, 8}, 1, 0), y = argmax(matmul(x, random_normal({8, 3}, 2, 0)), 1);
  const auto train = [&](ModelOptions options, const Strategy* strategy) {
    set_seed(7);
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    Sequential model{Dense({.units = 64, .activation = "relu"}), Dense({.units = 3, .dtype = "float32"})};
    model.compile(options);
    return model.fit(x, y, {.epochs = 3, .batch_size = 216}).back();
  };
  const ModelOptions plain{.optimizer = SGD{.learning_rate = 0.1}};
  ModelOptions in_shards = plain;
  in_shards.logical_shards = 8;
  const Logs one = train(plain, nullptr);
  EXPECT_EQ(one.at("loss_scale"), 32768);
  const strategy::Mirrored two({.devices = 2}), three({.devices = 3});
  for (const Logs& logs : {train(plain, &two), train(plain, &three), train(in_shards, nullptr)}) {
    EXPECT_EQ(logs.at("loss_scale"), 32768);
    EXPECT_NEAR(logs.at("loss"), one.at("loss"), 2e-3);
  }
  ModelOptions accumulated = plain;
  accumulated.optimizer = SGD{.learning_rate = 0.1, .gradient_accumulation_steps = 2};
  for (const bool eagerly : {false, true}) {
    accumulated.run_eagerly = eagerly;
    EXPECT_EQ(train(accumulated, nullptr).at("loss_scale"), 32768);
  }
}

// Whether the first step is not skipped.
struct ScaledStep {
  int64_t rows;
  double weight = 1;
  int shards = 0, accumulates = 1;
  const Strategy* strategy = nullptr;
  bool fits(double scale) const {
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    const Tensor x = random_normal({rows, 4}, 1, 0), y = matmul(x, random_normal({4, 2}, 2, 0));
    set_seed(3);
    Sequential model{Dense({.units = 8, .activation = "tanh"}), Dense({.units = 2})};
    model.compile({.optimizer = SGD{.gradient_accumulation_steps = accumulates},
                   .loss = MeanSquaredError(),
                   .logical_shards = shards,
                   .loss_scale = LossScale{.initial = scale, .growth_steps = 1000}});
    const FitOptions options{.epochs = 1, .batch_size = rows, .sample_weight = full({rows}, weight)};
    return model.fit(x, y, options)[0].at("loss_scale") == scale;
  }
};

// Each part of a batch by the rows of all, and what they weigh: also where parts are of other sizes.
TEST_F(LossScales, WhatFitsOnOneDeviceFitsOnReplicasAndShards) {
  const strategy::Mirrored two({.devices = 2}), three({.devices = 3});
  for (const char* const policy : {"mixed_float16", "float16"}) {
    set_dtype_policy(policy);
    for (const auto& [rows, weight] : {std::pair<int64_t, double>{5, 1}, {7, 1}, {9, 1}, {7, 10}}) {
      SCOPED_TRACE(std::string(policy) + ", " + std::to_string(rows) + " rows of weight " +
                   std::to_string(weight));
      double scale = 1 << 22;
      while (scale > 1 && !ScaledStep{rows, weight}.fits(scale)) scale /= 2;
      EXPECT_GT(scale, 1);
      EXPECT_LT(scale, 1 << 22);
      EXPECT_TRUE((ScaledStep{rows, weight, 0, 1, &two}.fits(scale)));
      EXPECT_TRUE((ScaledStep{rows, weight, 0, 1, &three}.fits(scale)));
      EXPECT_TRUE((ScaledStep{rows, weight, 3}.fits(scale)));
      EXPECT_TRUE((ScaledStep{rows, weight, 0, 2}.fits(scale)));
    }
  }
}

TEST_F(LossScales, AnEpochWithoutAStepHasNoLoss) {
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError(), .metrics = {"mae"}, .loss_scale = LossScale{.initial = 8}});
  std::vector<std::string> notes;
  const auto listens = LambdaCallback({.on_note = [&](const std::string& note) { notes.push_back(note); }});
  const Tensor x = full({4, 1}, 1), inf = full({4, 1}, std::numeric_limits<double>::infinity());
  const Logs none = model.fit(x, inf, {.batch_size = 2, .callbacks = {listens}})[0];
  EXPECT_TRUE(std::isnan(none.at("loss")) && std::isnan(none.at("mae")));
  EXPECT_EQ(none.at("loss_scale"), 2);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("each step of epoch 1 was skipped"), notes[0].npos) << notes[0];
  EXPECT_EQ(model.fit(x, x, {.batch_size = 2})[0].contains("loss"), true);
  EXPECT_FALSE(std::isnan(model.fit(x, x, {.batch_size = 2})[0].at("loss")));
}

// The gradients overflow, the loss of the rows does not: it is in the logs, as in Keras, and no callback that
// watches it sees NaN.
TEST_F(LossScales, RowsOfSkippedStepsCountInTheLogs) {
  const Tensor x = random_normal({32, 3}, 1, 0), y = sum(x, 1, true) * 300.f;
  const strategy::Mirrored two({.devices = 2});
  struct Case {
    const char* name;
    bool eager = false;
    int64_t accumulates = 1;
    int shards = 0;
    const Strategy* strategy = nullptr;
  };
  for (const Case& of :
       {Case{"one"}, Case{"eager", true}, Case{"accumulated", false, 2}, Case{"eager, accumulated", true, 2},
        Case{"shards", false, 1, 4}, Case{"replicas", false, 1, 0, &two},
        Case{"shards of replicas", false, 1, 4, &two}}) {
    SCOPED_TRACE(of.name);
    set_seed(1);
    std::optional<Strategy::Scope> scope;
    if (of.strategy) scope.emplace(of.strategy->replicas());
    set_dtype_policy("mixed_float16");
    Sequential model{Dense({.units = 8, .activation = "relu"}), BatchNormalization(),
                     Dense({.units = 1, .dtype = "float32"})};
    set_dtype_policy("float32");
    model.compile({.optimizer = Adam{.gradient_accumulation_steps = of.accumulates},
                   .loss = MeanSquaredError(),
                   .metrics = {"mae", "r2_score"},
                   .run_eagerly = of.eager,
                   .logical_shards = of.shards,
                   .loss_scale = LossScale{.initial = std::ldexp(1.0, 60)}});
    model.predict(x);
    const Bytes before = saved_bytes(model.variables());
    std::vector<double> losses;
    const auto seen = LambdaCallback({.on_batch_end = [&](int64_t, const Logs& logs) {
      if (logs.contains("loss")) losses.push_back(logs.at("loss"));
    }});
    const auto history = model.fit(
        x, y,
        {.epochs = 3,
         .batch_size = 8,
         .callbacks = {TerminateOnNaN(), seen,
                       EarlyStopping({.monitor = "loss", .patience = 5, .restore_best_weights = true})}});
    ASSERT_EQ(history.size(), 3u) << "12 steps halve 2^60 to 2^48: all are skipped";
    EXPECT_EQ(history.back().at("loss_scale"), std::ldexp(1.0, 48));
    EXPECT_EQ(saved_bytes(model.variables()), before) << "averages among them";
    // BatchNormalization takes the statistics of a batch in training: by hand, of each batch.
    for (const Logs& logs : history) {
      EXPECT_TRUE(std::isfinite(logs.at("loss")) && std::isfinite(logs.at("mae")) &&
                  std::isfinite(logs.at("r2_score")));
      // y is far larger than what the model gives.
      const double wanted = mean(square(y)).item<float>();
      EXPECT_NEAR(logs.at("loss"), wanted, 0.05 * wanted);
    }
    EXPECT_GT(losses.size(), 2u);
    for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss) && loss > 0);
  }
}

// Of the steps of an epoch one is skipped: the epoch's loss is the mean over the rows of both.
TEST_F(LossScales, TheLossOfAnEpochIsThatOfAllItsRows) {
  for (const bool eager : {false, true}) {
    Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = initializers::Constant(1)})};
    model.compile({.optimizer = SGD{.learning_rate = 0},
                   .loss = MeanSquaredError(),
                   .metrics = {"mae"},
                   .run_eagerly = eager,
                   .loss_scale = LossScale{.initial = std::ldexp(1.0, 100)}});
    // Errors are 1 and 1e18: 2^100 * 2e18 is no f32.
    const Tensor x = Tensor::of<float>({1, 1e18f}, {2, 1}), y = Tensor::of<float>({0, 0}, {2, 1});
    const Logs logs = model.fit(x, y, {.batch_size = 1, .shuffle = false})[0];
    EXPECT_EQ(logs.at("loss_scale"), std::ldexp(1.0, 99));
    EXPECT_NEAR(logs.at("loss"), 0.5e36, 1e30);
    EXPECT_NEAR(logs.at("mae"), 0.5e18, 1e12);
  }
}

TEST_F(LossScales, AnEpochWithoutALossIsNoneToCallbacks) {
  Sequential model{Dense({.units = 1, .use_bias = false})};
  model.compile({.optimizer = SGD{.learning_rate = 1e-3},
                 .loss = MeanSquaredError(),
                 .metrics = {},
                 .loss_scale = LossScale{.initial = 1024}});
  const Tensor x = full({4, 1}, 1), inf = full({4, 1}, std::numeric_limits<double>::infinity());
  model.predict(x);
  const std::string folder = fresh_folder("LossScales-skipped");
  std::vector<int> ended;
  std::vector<double> losses;
  const auto listens = LambdaCallback({
      .on_batch_end =
          [&](int64_t, const Logs& logs) {
            if (logs.contains("loss")) losses.push_back(logs.at("loss"));
          },
      .on_epoch_end = [&](int epoch, const Logs&) { ended.push_back(epoch); },
  });
  const std::vector<std::shared_ptr<Callback>> callbacks = {
      TerminateOnNaN(),
      listens,
      EarlyStopping({.monitor = "loss", .patience = 1}),
      ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1}),
      ModelCheckpoint({.path = folder + "/{epoch}", .monitor = "loss", .save_best_only = true}),
  };
  const auto history = model.fit(x, inf, {.epochs = 4, .batch_size = 2, .callbacks = callbacks});
  EXPECT_EQ(history.size(), 4u);
  for (const Logs& logs : history) EXPECT_TRUE(std::isnan(logs.at("loss")));
  EXPECT_EQ(ended, (std::vector<int>{0, 1, 2, 3})) << "others hear of it";
  EXPECT_TRUE(losses.empty()) << "there is no loss so far, and not one of 0";
  EXPECT_FLOAT_EQ(model.optimizer().learning_rate().read().item<float>(), 1e-3f);
  EXPECT_TRUE(posix_env().list_folder(folder).empty());
  // Nor is an epoch whose rows all weigh 0; its note says so.
  std::vector<std::string> notes;
  auto with_notes = callbacks;
  with_notes.push_back(LambdaCallback({.on_note = [&](const std::string& note) { notes.push_back(note); }}));
  const auto weightless =
      model.fit(x, x, {.epochs = 3, .batch_size = 2, .sample_weight = zeros({4}), .callbacks = with_notes});
  EXPECT_EQ(weightless.size(), 3u);
  EXPECT_TRUE(std::isnan(weightless[0].at("loss")));
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "epoch 1 made no step: all its rows weigh 0");
  EXPECT_TRUE(posix_env().list_folder(folder).empty());
}

TEST_F(LossScales, TheyAreOnForFloat16Alone) {
  const Tensor x = full({2, 1}, 0.1);
  for (const std::string policy : {"float32", "mixed_bfloat16", "bfloat16", "mixed_float16", "float16"}) {
    set_dtype_policy(policy);
    Sequential model{Dense({.units = 1})};
    model.compile({.loss = MeanSquaredError()});
    const Logs logs = model.fit(x, x, {.validation_x = x, .validation_y = x})[0];
    const bool scaled = policy == "mixed_float16" || policy == "float16";
    EXPECT_EQ(logs.contains("loss_scale"), scaled) << policy;
    EXPECT_FALSE(logs.contains("val_loss_scale"));
    if (scaled) {
      EXPECT_EQ(logs["loss_scale"], 32768);
    }
    EXPECT_FALSE(model.evaluate(x, x).contains("loss_scale"));
  }
}

TEST_F(LossScales, LayersInFloat16AskForOne) {
  const Tensor x = full({2, 1}, 0.1);
  const auto fit = [&](std::optional<LossScale> scale) {
    Sequential model{Dense({.units = 2, .dtype = "mixed_float16"}), Dense({.units = 1})};
    model.compile({.loss = MeanSquaredError(), .loss_scale = scale});
    return rule_of([&] { model.fit(x, x); });
  };
  EXPECT_EQ(fit({}), "fit.loss_scale");
  EXPECT_EQ(fit(LossScale{}), "nothing");
  EXPECT_EQ(fit(LossScale{.initial = 1, .dynamic = false}), "nothing");
}

TEST_F(LossScales, CheckedNumbersAndScalesGoTogether) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool eager : {false, true}) {
    Sequential model{Dense({.units = 1})};
    model.compile({.optimizer = SGD{.learning_rate = 1e-3},
                   .loss = MeanSquaredError(),
                   .run_eagerly = eager,
                   .check_numerics = true,
                   .loss_scale = LossScale{.initial = std::ldexp(1.0, 100)}});
    const Tensor y = full({2, 1}, 1);
    model.train_on_batch(full({2, 1}, 1), y);
    // The gradient alone overflows: that is what the scale is for.
    const double before = model.train_on_batch(full({2, 1}, 1), y).at("loss_scale");
    EXPECT_EQ(model.train_on_batch(full({2, 1}, 1e18), y).at("loss_scale"), before / 2);
    EXPECT_EQ(rule_of([&] { model.train_on_batch(full({2, 1}, inf), y); }), "check_numerics");
  }
  Sequential model{Dense({.units = 1})};
  const auto compile = [&](LossScale scale) {
    return rule_of([&] { model.compile({.loss = MeanSquaredError(), .loss_scale = scale}); });
  };
  EXPECT_EQ(compile({.initial = 0}), "loss_scale.initial");
  EXPECT_EQ(compile({.initial = 1e300}), "loss_scale.initial");
  EXPECT_EQ(compile({.growth_steps = 0}), "loss_scale.growth_steps");
}

}  // namespace
}  // namespace espalier
