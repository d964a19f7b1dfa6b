// LossScaleOptimizer: eagerly, traced, on replicas of each kind, and in fit.
#include <cmath>
#include <limits>

#include "base/rule_of_test.h"
#include "optim/loss_scaling.h"
#include "place/ways_test.h"

namespace espalier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// As LossScales.TheScaleGrowsByFiniteStepsAndFallsByOthers has it, which is Keras'.
TEST(LossScaleOptimizer, TheScaleGrowsByFiniteUpdatesAndFallsByOthers) {
  for (const bool eager : {true, false}) {
    Variable w(full({2}, 1), {.name = "w"});
    Optimizer optimizer = LossScaleOptimizer{.inner_optimizer = SGD{.learning_rate = 1e-3, .momentum = 0.9},
                                             .initial_scale = 8,
                                             .dynamic_growth_steps = 3};
    const auto step = [&](const Tensor& x) {
      GradientTape tape;
      const Tensor loss = optimizer.scale_loss(reduce_sum(x * square(w), {0}));
      // With a condition of the caller's, too.
      UpdateControl control;
      if (!eager) control.apply = full({}, 1, DType::kBool);
      optimizer.apply(tape.gradient(loss, {w}), {w}, control);
    };
    const auto traced = function(step);
    std::vector<double> scales, wanted{8, 8, 16, 16, 8, 8, 8, 4, 4, 4, 8};
    for (const double value : {1.0, 1.0, 1.0, 1.0, kInfinity, 1.0, 1.0, kInfinity, 1.0, 1.0, 1.0}) {
      const std::vector<float> before = w.read().to_vector<float>();
      const int64_t updates = optimizer.inner_optimizer().variables()[1].read().item<int64_t>();
      eager ? step(full({2}, value)) : traced(full({2}, value));
      scales.push_back(optimizer.dynamic_scale().read().item<float>());
      EXPECT_EQ(w.read().to_vector<float>() == before, value == kInfinity);
      EXPECT_EQ(optimizer.inner_optimizer().variables()[1].read().item<int64_t>() - updates,
                value == kInfinity ? 0 : 1);
    }
    EXPECT_EQ(scales, wanted) << eager;
  }
}

// By a power of two the scaled gradient is the gradient; a factor of the inner optimizer is one more.
TEST(LossScaleOptimizer, ScaledUpdatesAreThoseOfTheInnerOptimizer) {
  for (const Adam& adam : {Adam{.learning_rate = 0.1}, Adam{.learning_rate = 0.1, .clipnorm = 0.1},
                           Adam{.learning_rate = 0.1, .gradient_accumulation_steps = 2},
                           Adam{.learning_rate = 0.1, .loss_scale_factor = 4}}) {
    const auto trained = [&](Optimizer optimizer) {
      Variable w(Tensor::of<float>({1, -2, 3}), {.name = "w"});
      for (int i = 0; i < 6; ++i) {
        GradientTape tape;
        const Tensor loss = reduce_sum(square(w - 0.25) * w, {0});
        optimizer.apply(tape.gradient(optimizer.scale_loss(loss), {w}), {w},
                        {.weight = full({}, i + 1), .apply = full({}, i != 3, DType::kBool)});
      }
      return w.read().to_vector<float>();
    };
    EXPECT_EQ(trained(adam), trained(LossScaleOptimizer{
                                 .inner_optimizer = adam, .initial_scale = 1024, .dynamic_growth_steps = 2}));
  }
}

// Gradients of 1e-9 are 0 in float16.
TEST(LossScaleOptimizer, WhatUnderflowsInFloat16TrainsUnderIt) {
  const auto moved = [](double scale) {
    Variable w(full({2}, 1), {.name = "w"});
    Optimizer optimizer =
        LossScaleOptimizer{.inner_optimizer = Adam{.epsilon = 1e-20}, .initial_scale = scale};
    GradientTape tape;
    const Tensor narrow = convert(convert(w, DType::kF16) * 1, DType::kF32);
    optimizer.apply(tape.gradient(optimizer.scale_loss(reduce_sum(narrow * 1e-9, {0})), {w}), {w});
    return w.read().to_vector<float>()[0] < 1;
  };
  EXPECT_FALSE(moved(1));
  EXPECT_TRUE(moved(std::ldexp(1.0, 26)));
}

TEST(LossScaleOptimizer, SaysWhatItIsNot) {
  Optimizer plain = SGD{}, scaled = LossScaleOptimizer{.inner_optimizer = plain};
  EXPECT_EQ(rule_of([&] { plain.dynamic_scale(); }), "optimizer.loss_scale");
  EXPECT_EQ(rule_of([&] { plain.inner_optimizer(); }), "optimizer.loss_scale");
  EXPECT_EQ(rule_of([&] { scaled.inner_optimizer().dynamic_scale(); }), "optimizer.loss_scale");
  EXPECT_EQ(scaled.dynamic_scale().read().item<float>(), 32768);
  const auto make = [](LossScaleOptimizer options) { return rule_of([&] { Optimizer made(options); }); };
  EXPECT_EQ(make({.inner_optimizer = scaled}), "loss_scale.two");
  EXPECT_EQ(make({.inner_optimizer = plain, .initial_scale = 0}), "loss_scale.initial");
  EXPECT_EQ(make({.inner_optimizer = plain, .dynamic_growth_steps = 0}), "loss_scale.growth_steps");
  // What is saved has the scale and what it counts.
  const std::vector<Variable> inner = plain.variables(), all = scaled.variables();
  ASSERT_EQ(all.size(), inner.size() + 3);
  EXPECT_EQ(all[inner.size()].state(), scaled.dynamic_scale().state());
  EXPECT_EQ(all[inner.size()].path(), "loss_scale/scale");
}

// As under compile's own loss scale.
TEST(LossScaleOptimizer, FitTakesIt) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}), y = Tensor::of<float>({1, 0, 2}, {3, 1});
  const auto fit = [&](ModelOptions options) {
    set_seed(3);
    Sequential model{Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1})};
    options.loss = MeanSquaredError();
    model.compile(options);
    std::vector<double> out;
    for (const Logs& logs : model.fit(x, y * 100, {.epochs = 5})) {
      out.push_back(logs.at("loss"));
      out.push_back(logs.at("loss_scale"));
    }
    return out;
  };
  const double initial = std::ldexp(1.0, 122);
  const LossScaleOptimizer scaled{
      .inner_optimizer = SGD{}, .initial_scale = initial, .dynamic_growth_steps = 2};
  const auto own = fit({.optimizer = SGD{}, .loss_scale = LossScale{.initial = initial, .growth_steps = 2}});
  EXPECT_EQ(fit({.optimizer = scaled}), own);
  EXPECT_NE(own[1], own[9]) << "it changes";
  EXPECT_EQ(rule_of([&] { fit({.optimizer = scaled, .loss_scale = LossScale{}}); }), "loss_scale.two");
}

// w becomes smaller by the sum of all rows where that is finite.
OnProcess descending(int64_t) {
  Variable w = stored_variable(5, "w");
  Optimizer optimizer = LossScaleOptimizer{
      .inner_optimizer = SGD{.learning_rate = 1}, .initial_scale = 8, .dynamic_growth_steps = 2};
  const auto body = [=](std::span<const Tensor> in) mutable {
    GradientTape tape;
    const Tensor loss = reduce_sum(in[0] * w.read(), {0, 1});
    const auto own = tape.gradient(optimizer.scale_loss(loss), {w});
    optimizer.apply(strategy::all_reduce(own), {w});
    return std::vector<Tensor>{in[0]};
  };
  const Variable steps = optimizer.inner_optimizer().variables()[1];
  return {{w, optimizer.dynamic_scale(), steps}, TracedFunction(body, {.name = "descending"})};
}

class LossScaledReplicas : public OnEachWay {};
ESPALIER_ON_WAYS(LossScaledReplicas, {});

// One replica has a row that overflows: none updates, and all halve.
TEST_P(LossScaledReplicas, AgreeOnWhatIsSkipped) {
  const OnWay descend(*way, descending);
  Numbers w = all_of(5);
  double steps = 0;
  const std::vector<double> scales{8, 16, 8, 8, 16};
  for (int64_t turn = 0; turn < 5; ++turn) {
    OfReplicas rows = rows_for(*way, kRows, turn);
    const bool skipped = turn == 2;
    if (skipped) rows.back()[0] = rows.back()[0] * Tensor::scalar(static_cast<float>(kInfinity));
    descend(rows);
    if (!skipped) {
      w = w + sums_of(kRows, turn) * -1;
      ++steps;
    }
    EXPECT_EQ(descend.all_held(), (std::vector<Numbers>{w, {scales[static_cast<size_t>(turn)]}, {steps}}))
        << "turn " << turn;
  }
}

}  // namespace
}  // namespace espalier
