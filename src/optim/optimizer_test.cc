#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"
#include "optim/rule.h"
#include "optim/rule_checks_test.h"

namespace espalier {
namespace {

TEST(Optimizers, ARefusedApplyChangesNothing) {
  for (const Optimizer& optimizer :
       std::vector<Optimizer>{SGD{.learning_rate = 0.5, .momentum = 0.9}, Adam{}, AdamW{.global_clipnorm = 1},
                              RMSprop{.momentum = 0.5, .centered = true}, Adagrad{.clipvalue = 0.5}})
    expect_refusals_change_nothing(optimizer);
}

// All rules, with all the state that they can have.
std::vector<Optimizer> all_rules() {
  const PiecewiseConstantDecay falling{.boundaries = {1}, .values = {0.5, 0.25}};
  return {SGD{.learning_rate = falling, .weight_decay = 0.1},
          SGD{.momentum = 0.9, .nesterov = true, .clipnorm = 0.5},
          Adam{.learning_rate = falling, .clipvalue = 0.25},
          AdamW{.global_clipnorm = 1},
          RMSprop{.weight_decay = 0.1},
          RMSprop{.learning_rate = falling, .momentum = 0.5, .centered = true, .global_clipnorm = 0.5},
          Adagrad{.use_ema = true},
          Adagrad{.clipnorm = 0.5, .use_ema = true, .ema_overwrite_frequency = 1}};
}

TEST(Optimizers, AnUpdateThatIsNotAppliedChangesNothing) {
  for (const bool traced : {false, true}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      for (const Optimizer& optimizer : all_rules())
        expect_skipped_updates_change_nothing(optimizer, dtype, traced);
    }
  }
}

TEST(Optimizers, CallsAccumulateToTheMeanOfTheirRows) {
  for (const bool traced : {false, true}) {
    for (const bool weighted : {false, true}) {
      const std::vector<Optimizer> several{
          SGD{.momentum = 0.9, .weight_decay = 0.1, .gradient_accumulation_steps = 3},
          Adam{.learning_rate = PiecewiseConstantDecay{.boundaries = {1}, .values = {0.5, 0.25}},
               .global_clipnorm = 0.5,
               .gradient_accumulation_steps = 3},
          RMSprop{.momentum = 0.5, .centered = true, .gradient_accumulation_steps = 3},
          Adagrad{.clipvalue = 0.25, .gradient_accumulation_steps = 3}};
      const std::vector<Optimizer> one{
          SGD{.momentum = 0.9, .weight_decay = 0.1},
          Adam{.learning_rate = PiecewiseConstantDecay{.boundaries = {1}, .values = {0.5, 0.25}},
               .global_clipnorm = 0.5},
          RMSprop{.momentum = 0.5, .centered = true}, Adagrad{.clipvalue = 0.25}};
      for (size_t k = 0; k < several.size(); ++k)
        expect_calls_accumulate(several[k], one[k], traced, weighted);
    }
  }
}

// As under a loss scale that grows between the calls of an update.
TEST(Optimizers, CallsOfASumCountTimesTheirOwnScales) {
  for (const double bound : {0.0, 1.5}) {
    Optimizer sgd = SGD{.learning_rate = 1, .clipvalue = bound, .gradient_accumulation_steps = 3};
    Variable w(full({1}, 0), {.name = "w"});
    for (const float scale : {2.0f, 8.0f, 4.0f})
      sgd.apply({full({1}, scale)}, {w}, {.scale = Tensor::scalar(3 / scale), .weight = full({}, 0.5)});
    EXPECT_EQ(w.read().item<float>(), bound > 0 ? -1.5f : -6);
  }
}

// By hand: SGD of rate 1 goes 1, 2, 3, ... down by gradients of -1.
TEST(Optimizers, AveragesFollowAndTakeThePlaceOfVariables) {
  for (const bool traced : {false, true}) {
    const auto run = [&](int64_t frequency, int64_t calls, bool applied) {
      Optimizer sgd = SGD{.learning_rate = 1,
                          .gradient_accumulation_steps = calls,
                          .use_ema = true,
                          .ema_momentum = 0.75,
                          .ema_overwrite_frequency = frequency};
      Variable w(full({1}, 0), {.name = "w"});
      const auto update = [&](const Tensor& g, const Tensor& apply) {
        sgd.apply({g}, {w}, {.apply = apply});
        return Tensors{};
      };
      const auto step = function(update);
      std::vector<float> out;
      const auto call = [&](float g, bool apply) {
        const Tensor a = full({1}, g), b = Tensor::scalar(apply);
        if (traced) {
          step(a, b);
        } else {
          update(a, b);
        }
      };
      for (int i = 0; i < 4; ++i) {
        for (int64_t k = 0; k < calls; ++k) call(-1, true);
        if (!applied) call(std::numeric_limits<float>::infinity(), false);
        out.push_back(w.read().to_vector<float>()[0]);
      }
      sgd.finalize_variables({w});
      out.push_back(w.read().to_vector<float>()[0]);
      return out;
    };
    // Averages: 1, then 0.75 * 1 + 0.25 * 2 = 1.25, 0.75 * 1.25 + 0.25 * 3 = 1.6875, 2.265625.
    const std::vector<float> alone{1, 2, 3, 4, 2.265625f};
    EXPECT_EQ(run(0, 1, true), alone);
    EXPECT_EQ(run(0, 1, false), alone);
    EXPECT_EQ(run(0, 3, true), alone);
    // Every second time in its place: 1, 1.25, 2.25 (average 1.5), 3.25 becomes 0.75 * 1.5 + 0.25 * 3.25.
    const std::vector<float> overwritten{1, 1.25f, 2.25f, 1.9375f, 1.9375f};
    EXPECT_EQ(run(2, 1, true), overwritten);
    EXPECT_EQ(run(2, 1, false), overwritten);
  }
}

TEST(Optimizers, AScaledLossUpdatesAsTheLoss) {
  for (const double clipnorm : {0.0, 0.5}) {
    Optimizer scaled = Adam{.clipnorm = clipnorm, .loss_scale_factor = 1024},
              plain = Adam{.clipnorm = clipnorm};
    Variable w(Tensor::of<float>({1, -2}), {.name = "w"}), v(Tensor::of<float>({1, -2}), {.name = "w"});
    EXPECT_EQ(scaled.scale_loss(Tensor::scalar(2.0f)).item<float>(), 2048);
    for (int i = 0; i < 3; ++i) {
      const Tensor g = Tensor::of<float>({0.3f, 0.7f});
      scaled.apply({scaled.scale_loss(g)}, {w});
      plain.apply({g}, {v});
    }
    EXPECT_EQ(w.read().to_vector<float>(), v.read().to_vector<float>());
  }
}

TEST(Optimizers, GradientsCountTimesTheScaleBeforeBounds) {
  for (const bool traced : {false, true}) {
    const std::vector<Optimizer> first = all_rules(), second = all_rules();
    for (size_t i = 0; i < first.size(); ++i)
      expect_gradients_count_times_the_scale(first[i], second[i], traced);
  }
  Optimizer sgd = SGD{};
  Variable w(full({2}, 1));
  EXPECT_THROW(sgd.apply({full({2}, 1)}, {w}, {.scale = full({2}, 1)}), DTypeError);
  EXPECT_THROW(sgd.apply({full({2}, 1)}, {w}, {.apply = full({}, 1)}), DTypeError);
}

TEST(Optimizers, NormsWhoseSquaresOverflowClip) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const bool global : {false, true}) {
    const auto change = [&](std::vector<float> gradient) {
      Optimizer optimizer =
          SGD{.learning_rate = 1, .clipnorm = global ? 0.0 : 1.0, .global_clipnorm = global ? 1.0 : 0.0};
      Variable w(full({2}, 0), {.name = "w"});
      optimizer.apply({Tensor::of(std::move(gradient))}, {w});
      return w.read().to_vector<float>();
    };
    for (const float size : {1e20f, 1e30f}) {
      const auto got = change({3 * size, 4 * size});
      EXPECT_FLOAT_EQ(got[0], -0.6f);
      EXPECT_FLOAT_EQ(got[1], -0.8f);
    }
    EXPECT_EQ(change({3e-30f, 4e-30f}), (std::vector<float>{-3e-30f, -4e-30f}));
    EXPECT_EQ(change({0, 0}), (std::vector<float>{0, 0}));
    EXPECT_TRUE(std::isnan(change({inf, 1})[1]));
  }
}

TEST(Optimizers, OptionsOutsideOfTheirRangeAreRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](auto options, const std::string& rule) {
    try {
      Optimizer optimizer = options;
      return false;
    } catch (const ValueError& error) {
      return error.rule() == rule &&
             std::string(error.what()).find(" at optimizer_test.cc:") != std::string::npos;
    }
  };
  for (const double bad : {-0.1, 1.0, 2.0, kNan}) {
    EXPECT_TRUE(refused(Adam{.beta_1 = bad}, "adam.beta_1")) << bad;
    EXPECT_TRUE(refused(Adam{.beta_2 = bad}, "adam.beta_2")) << bad;
  }
  for (const double bad : {0.0, -1e-7, kNan}) EXPECT_TRUE(refused(Adam{.epsilon = bad}, "adam.epsilon"));
  for (const double bad : {-1e-3, kNan}) {
    EXPECT_TRUE(refused(Adam{.learning_rate = bad}, "optimizer.learning_rate")) << bad;
    EXPECT_TRUE(refused(SGD{.learning_rate = bad}, "optimizer.learning_rate")) << bad;
    EXPECT_TRUE(refused(Adam{.weight_decay = bad}, "adam.weight_decay")) << bad;
    EXPECT_TRUE(refused(SGD{.momentum = bad}, "sgd.momentum")) << bad;
  }
  EXPECT_TRUE(refused(SGD{.momentum = 1.5}, "sgd.momentum"));
  for (const double bad : {-0.1, 1.0, kNan}) EXPECT_TRUE(refused(RMSprop{.rho = bad}, "rmsprop.rho")) << bad;
  for (const double bad : {-0.1, 1.5, kNan})
    EXPECT_TRUE(refused(RMSprop{.momentum = bad}, "rmsprop.momentum")) << bad;
  for (const double bad : {0.0, -1e-7, kNan}) {
    EXPECT_TRUE(refused(AdamW{.epsilon = bad}, "adamw.epsilon")) << bad;
    EXPECT_TRUE(refused(RMSprop{.epsilon = bad}, "rmsprop.epsilon")) << bad;
    EXPECT_TRUE(refused(Adagrad{.epsilon = bad}, "adagrad.epsilon")) << bad;
  }
  for (const double bad : {-1.0, kNan, std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(refused(SGD{.clipnorm = bad}, "sgd.clipnorm")) << bad;
    EXPECT_TRUE(refused(Adam{.global_clipnorm = bad}, "adam.global_clipnorm")) << bad;
    EXPECT_TRUE(refused(RMSprop{.clipvalue = bad}, "rmsprop.clipvalue")) << bad;
  }
  EXPECT_TRUE(refused(SGD{.gradient_accumulation_steps = 0}, "sgd.gradient_accumulation_steps"));
  EXPECT_TRUE(refused(Adam{.ema_overwrite_frequency = -1}, "adam.ema_overwrite_frequency"));
  for (const double bad : {-0.1, 1.5, kNan})
    EXPECT_TRUE(refused(Adam{.ema_momentum = bad}, "adam.ema_momentum"));
  for (const double bad : {-1.0, 0.0, kNan, std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(refused(RMSprop{.loss_scale_factor = bad}, "rmsprop.loss_scale_factor")) << bad;
  EXPECT_TRUE(refused(SGD{.weight_decay = -1}, "sgd.weight_decay"));
  EXPECT_TRUE(refused(Adagrad{.initial_accumulator_value = -1}, "adagrad.initial_accumulator_value"));
  EXPECT_TRUE(refused(Adagrad{.clipnorm = 1, .global_clipnorm = 1}, "adagrad.clip"));
  EXPECT_TRUE(refused(AdamW{.global_clipnorm = 1, .clipvalue = 1}, "adamw.clip"));
  EXPECT_TRUE(refused(SGD{.clipnorm = 1, .clipvalue = 2}, "sgd.clip"));
  EXPECT_NO_THROW(Optimizer(Adam{.learning_rate = 0, .beta_1 = 0, .beta_2 = 0}));
  EXPECT_NO_THROW(Optimizer(SGD{.momentum = 1}));
}

// A rule whose mistakes a test makes.
struct MistakenRule final : Optimizer::Rule {
  explicit MistakenRule(const std::string& name = "own") : Rule(name, {.learning_rate = 1}) {}
  std::vector<Slot> slots(const Variable&) const override { return kept; }
  Tensor update(const Step& at, std::vector<Tensor>& slots) const override { return makes(at, slots); }

  std::vector<Slot> kept;
  std::function<Tensor(const Step&, std::vector<Tensor>&)> makes = [](const Step& at, std::vector<Tensor>&) {
    return at.variable - at.gradient;
  };
};

TEST(OwnRules, MistakesAreNamedBeforeAnythingChanges) {
  using Slots = std::vector<Tensor>;
  using Step = Optimizer::Rule::Step;
  const auto refused = [](auto&& mistake) {
    const auto rule = std::make_shared<MistakenRule>();
    mistake(*rule);
    Optimizer own(rule);
    Variable w(full({2}, 1), {.name = "w"});
    std::string out;
    try {
      own.apply({full({2}, 1)}, {w});
    } catch (const Error& error) {
      out = cat(error.kind(), "[", error.rule(), "] ", error.message());
      EXPECT_NE(std::string(error.what()).find(" at optimizer_test.cc:"), std::string::npos) << error.what();
    }
    EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{1, 1}));
    EXPECT_EQ(own.variables().size(), 2u);
    EXPECT_EQ(own.variables()[1].read().item<int64_t>(), 0);
    // It is asked anew once it is mended.
    rule->kept = {};
    rule->makes = MistakenRule().makes;
    own.apply({full({2}, 1)}, {w});
    EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{0, 0}));
    return out;
  };
  const auto gives = [&](std::function<Tensor(const Step&, Slots&)> makes) {
    return refused([&](MistakenRule& rule) {
      rule.kept = {{"m"}};
      rule.makes = makes;
    });
  };
  EXPECT_EQ(gives([](const Step& at, Slots&) { return sum(at.variable); }),
            "ShapeError[optimizer.update] own gives f32[] as the new value of \"w\", which is f32[2]");
  EXPECT_EQ(gives([](const Step&, Slots&) { return Tensor(); }),
            "ValueError[optimizer.update] own gives no new value of \"w\"");
  EXPECT_EQ(
      gives([](const Step& at, Slots&) { return convert(at.variable, DType::kI32); }),
      "DTypeError[optimizer.update] own gives i32[2] as the new value of \"w\", which is a floating-point "
      "number");
  EXPECT_EQ(gives([](const Step& at, Slots& slots) {
              slots[0] = sum(slots[0]);
              return at.variable;
            }),
            "ShapeError[optimizer.update] own gives f32[] as the new value of slot \"m\" of \"w\", which is "
            "f32[2]");
  EXPECT_EQ(gives([](const Step& at, Slots& slots) {
              slots.clear();
              return at.variable;
            }),
            "ValueError[optimizer.update] own has 1 slot, and left 0");
  const auto called = [&](std::vector<Optimizer::Rule::Slot> slots) {
    return refused([&](MistakenRule& rule) { rule.kept = slots; });
  };
  EXPECT_EQ(called({{"m"}, {"m"}}),
            "ValueError[optimizer.slots] slot 1 of own is called \"m\", as another one of it");
  EXPECT_EQ(called({{"average"}}),
            "ValueError[optimizer.slots] slot 0 of own is called \"average\", as what every optimizer keeps");
  for (const char* name : {"", "a/b", "a b"})
    EXPECT_TRUE(called({{name}}).starts_with("ValueError[optimizer.slots] slot 0 of own is called")) << name;
  for (const char* name : {"", "a/b"})
    EXPECT_EQ(rule_of([&] { const MistakenRule rule(name); }), "optimizer.name") << name;
  EXPECT_EQ(rule_of([] { const Optimizer none(std::shared_ptr<Optimizer::Rule>{}); }), "optimizer.rule");
}

// As a factored second moment has it, or a number beside each variable.
TEST(OwnRules, SlotsMayHaveShapesAndFirstValuesOfTheirOwn) {
  const auto rule = std::make_shared<MistakenRule>();
  rule->kept = {{.name = "rows", .initial = 2, .shape = Shape{3}}, {.name = "count", .shape = Shape{}}};
  rule->makes = [](const Optimizer::Rule::Step& at, std::vector<Tensor>& slots) {
    slots[0] = slots[0] + sum(at.gradient, 1);
    slots[1] = slots[1] + at.number;
    return at.variable - at.learning_rate * at.gradient;
  };
  Optimizer own(rule);
  Variable w(full({3, 2}, 1), {.name = "w"});
  for (int i = 0; i < 2; ++i) own.apply({full({3, 2}, 0.25)}, {w});
  const std::vector<Variable> all = own.variables();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].path(), "own/rows/w");
  EXPECT_EQ(all[2].read().to_vector<float>(), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(all[3].read().item<float>(), 3) << "1 + 2";
  EXPECT_EQ(w.read().to_vector<float>(), std::vector<float>(6, 0.5f));
}

TEST(Optimizers, ErrorsNameTheUsersLine) {
  Optimizer sgd = SGD{};
  Variable w(full({2}, 1));
  const std::vector<std::function<void()>> mistakes = {
      [&] { sgd.apply({full({3}, 1)}, {w}); },
      [&] { sgd.apply({}, {w}); },
      [&] { Optimizer adam = Adam{.beta_1 = 2}; },
      [&] { sgd = SGD{.momentum = -1}; },
  };
  for (const auto& mistake : mistakes) {
    try {
      mistake();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(" at optimizer_test.cc:"), std::string::npos) << error.what();
    }
  }
}

TEST(Optimizers, AScheduleSetsTheRateOfEveryUpdate) {
  for (const bool traced : {false, true}) {
    Optimizer sgd = SGD{.learning_rate = PiecewiseConstantDecay{.boundaries = {1}, .values = {0.5, 0.25}}};
    Variable w(full({1}, 4));
    EXPECT_EQ(sgd.learning_rate().read().item<float>(), 0.5f);
    const auto step = function([&](const Tensor& g) {
      sgd.apply({g}, {w});
      return std::vector<Tensor>{};
    });
    std::vector<float> values, rates;
    for (int i = 0; i < 4; ++i) {
      traced ? static_cast<void>(step(full({1}, 1))) : sgd.apply({full({1}, 1)}, {w});
      values.push_back(w.read().item<float>());
      rates.push_back(sgd.learning_rate().read().item<float>());
      sgd.learning_rate().assign(full({}, 100));
    }
    EXPECT_EQ(values, (std::vector<float>{3.5f, 3, 2.75f, 2.5f}));
    EXPECT_EQ(rates, (std::vector<float>{0.5f, 0.5f, 0.25f, 0.25f}));
    EXPECT_EQ(step.traces(), traced ? 1u : 0u);
  }
  Optimizer own = SGD{.learning_rate = LearningRateSchedule(
                          [](const Tensor& step) { return 1 / (convert(step, DType::kF32) + 1); })};
  Variable w(full({1}, 4));
  for (int i = 0; i < 2; ++i) own.apply({full({1}, 1)}, {w});
  EXPECT_EQ(w.read().item<float>(), 2.5f);
}

TEST(Optimizers, EveryScheduleCanWarmUp) {
  const auto rates = [](const LearningRateSchedule& schedule) {
    return schedule(iota({DType::kI64, {9}}, 0)).to_vector<float>();
  };
  const auto expect_near = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-7f) << i;
  };
  expect_near(rates(WarmUp{.steps = 4, .then = 0.5}),
              {0, 0.125f, 0.25f, 0.375f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
  expect_near(
      rates(WarmUp{
          .steps = 4,
          .initial = 0.1,
          .then = ExponentialDecay{.initial_learning_rate = 0.5, .decay_steps = 2, .decay_rate = 0.25}}),
      {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f});
  // Down to a rate that is lower, and a schedule whose first rate holds for a while.
  expect_near(rates(WarmUp{.steps = 2,
                           .initial = 0.75,
                           .then = PiecewiseConstantDecay{.boundaries = {1, 3}, .values = {0.25, 0.5, 1}}}),
              {0.75f, 0.5f, 0.25f, 0.25f, 0.5f, 0.5f, 1, 1, 1});
  expect_near(
      rates(WarmUp{
          .steps = 3, .initial = 0.1, .then = CosineDecay{.initial_learning_rate = 0.4, .decay_steps = 5}}),
      rates(CosineDecay{
          .initial_learning_rate = 0.1, .decay_steps = 5, .warmup_target = 0.4, .warmup_steps = 3}));
  Optimizer sgd = SGD{.learning_rate = WarmUp{.steps = 2, .then = 1}};
  Variable w(full({1}, 4));
  for (int i = 0; i < 4; ++i) sgd.apply({full({1}, 1)}, {w});
  EXPECT_EQ(w.read().item<float>(), 1.5f) << "rates 0, 0.5, 1, 1";
}

TEST(Optimizers, SchedulesOutsideOfTheirRangeAreRefused) {
  const auto refused = [](auto schedule) {
    return rule_of([&] { Optimizer sgd = SGD{.learning_rate = schedule}; });
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused(CosineDecay{.initial_learning_rate = 1}), "cosine_decay.decay_steps");
  EXPECT_EQ(refused(CosineDecay{.initial_learning_rate = -1, .decay_steps = 1}),
            "cosine_decay.initial_learning_rate");
  EXPECT_EQ(refused(CosineDecay{.decay_steps = 1, .alpha = kNan}), "cosine_decay.alpha");
  EXPECT_EQ(refused(CosineDecay{.decay_steps = 1, .warmup_target = -1}), "cosine_decay.warmup_target");
  EXPECT_EQ(refused(CosineDecay{.decay_steps = 1, .warmup_target = 1, .warmup_steps = -1}),
            "cosine_decay.warmup_steps");
  EXPECT_EQ(refused(CosineDecay{.decay_steps = 1, .warmup_steps = 1}), "cosine_decay.warmup_steps");
  EXPECT_EQ(refused(WarmUp{.then = 1}), "warm_up.steps");
  EXPECT_EQ(refused(WarmUp{.steps = 1, .initial = -1, .then = 1}), "warm_up.initial");
  EXPECT_EQ(refused(ExponentialDecay{.decay_rate = 0.5}), "exponential_decay.decay_steps");
  EXPECT_EQ(refused(ExponentialDecay{.decay_steps = 1, .decay_rate = 0}), "exponential_decay.decay_rate");
  EXPECT_EQ(refused(PiecewiseConstantDecay{}), "piecewise_constant_decay.values");
  EXPECT_EQ(refused(PiecewiseConstantDecay{.boundaries = {1, 2}, .values = {1, 2}}),
            "piecewise_constant_decay.values");
  EXPECT_EQ(refused(PiecewiseConstantDecay{.boundaries = {2, 2}, .values = {1, 2, 3}}),
            "piecewise_constant_decay.boundaries");
  EXPECT_EQ(refused(PiecewiseConstantDecay{.values = {-1}}), "piecewise_constant_decay.values");
  EXPECT_EQ(refused(PolynomialDecay{}), "polynomial_decay.decay_steps");
  EXPECT_EQ(refused(PolynomialDecay{.decay_steps = 1, .end_learning_rate = -1}),
            "polynomial_decay.end_learning_rate");
  EXPECT_EQ(refused(PolynomialDecay{.decay_steps = 1, .power = 0}), "polynomial_decay.power");
}

TEST(Optimizers, GradientsWithoutANormMakeNaNVisible) {
  const float inf = std::numeric_limits<float>::infinity();
  Optimizer sgd = SGD{.global_clipnorm = 1};
  Variable a(full({1}, 1)), b(full({1}, 1));
  sgd.apply({Tensor::of<float>({inf}), full({1}, 1)}, {a, b});
  EXPECT_TRUE(std::isnan(a.read().item<float>()));
  EXPECT_TRUE(std::isnan(b.read().item<float>()));
  // A gradient of zeros has the norm 0, and stays.
  Optimizer bounded = SGD{.clipnorm = 1};
  Variable c(full({1}, 1));
  bounded.apply({full({1}, 0)}, {c});
  EXPECT_EQ(c.read().item<float>(), 1);
}

// In f64 everything is exact here; narrower variables are that, rounded.
TEST(Optimizers, EveryFloatingPointTypeIsUpdated) {
  const std::vector<std::pair<Optimizer, double>> cases = {
      // velocity 0.5 * 1, change 1 / sqrt(0.5 + 0.5).
      {RMSprop{.learning_rate = 1, .rho = 0.5, .epsilon = 0.5, .weight_decay = 0.25}, 4 - 4 * 0.25 - 1},
      // accumulator 2 + 1, change 1 / sqrt(3 + 1).
      {Adagrad{.learning_rate = 1, .initial_accumulator_value = 2, .epsilon = 1}, 4 - 0.5},
  };
  for (const auto& [made, expected] : cases) {
    Optimizer optimizer = made;
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32, DType::kF64}) {
      Variable w(full({2}, 4, dtype));
      optimizer.apply({full({2}, 1, dtype)}, {w});
      EXPECT_EQ(convert(w, DType::kF64).to_vector<double>(), (std::vector<double>{expected, expected}))
          << name(dtype);
    }
  }
}

}  // namespace
}  // namespace espalier
