// Optimizers and schedules against the figures of tests/golden/keras_train.py.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

LearningRateSchedule schedule(const std::string& name, const json& a) {
  if (name == "CosineDecay") {
    CosineDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "alpha", s.alpha);
    if (a.contains("warmup_target")) s.warmup_target = a.at("warmup_target").get<double>();
    take_argument(a, "warmup_steps", s.warmup_steps);
    return s;
  }
  if (name == "ExponentialDecay") {
    ExponentialDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "decay_rate", s.decay_rate);
    take_argument(a, "staircase", s.staircase);
    return s;
  }
  if (name == "PiecewiseConstantDecay") {
    PiecewiseConstantDecay s;
    take_argument(a, "boundaries", s.boundaries);
    take_argument(a, "values", s.values);
    return s;
  }
  if (name == "PolynomialDecay") {
    PolynomialDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "end_learning_rate", s.end_learning_rate);
    take_argument(a, "power", s.power);
    take_argument(a, "cycle", s.cycle);
    return s;
  }
  throw std::runtime_error(name);
}

template <class Options>
Options with_common(const json& a) {
  Options out;
  if (a.contains("learning_rate")) {
    const json& rate = a.at("learning_rate");
    out.learning_rate = rate.is_object() ? schedule(rate.at("class"), rate.at("arguments"))
                                         : LearningRateSchedule(rate.get<double>());
  }
  take_argument(a, "weight_decay", out.weight_decay);
  take_argument(a, "clipnorm", out.clipnorm);
  take_argument(a, "global_clipnorm", out.global_clipnorm);
  take_argument(a, "clipvalue", out.clipvalue);
  return out;
}

template <class Options>
Options with_betas(const json& a) {
  auto out = with_common<Options>(a);
  take_argument(a, "beta_1", out.beta_1);
  take_argument(a, "beta_2", out.beta_2);
  take_argument(a, "epsilon", out.epsilon);
  return out;
}

Optimizer make(const std::string& name, const json& a) {
  if (name == "SGD") {
    auto out = with_common<SGD>(a);
    take_argument(a, "momentum", out.momentum);
    take_argument(a, "nesterov", out.nesterov);
    return out;
  }
  if (name == "Adam") return with_betas<Adam>(a);
  if (name == "AdamW") return with_betas<AdamW>(a);
  if (name == "RMSprop") {
    auto out = with_common<RMSprop>(a);
    take_argument(a, "rho", out.rho);
    take_argument(a, "momentum", out.momentum);
    take_argument(a, "epsilon", out.epsilon);
    take_argument(a, "centered", out.centered);
    return out;
  }
  if (name == "Adagrad") {
    auto out = with_common<Adagrad>(a);
    take_argument(a, "initial_accumulator_value", out.initial_accumulator_value);
    take_argument(a, "epsilon", out.epsilon);
    return out;
  }
  throw std::runtime_error(name);
}

// Ten updates of two variables, each after Keras' values; `traced` in one plan.
void expect_updates(const json& c, bool traced) {
  SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump() + (traced ? " traced" : " eager"));
  Optimizer optimizer = make(c.at("class"), c.at("arguments"));
  Variable a(golden_array(c.at("start")[0]), {.name = "a"}), b(golden_array(c.at("start")[1]), {.name = "b"});
  const auto step = function([&](const Tensor& da, const Tensor& db) -> std::vector<Tensor> {
    optimizer.apply({da, db}, {a, b});
    return {};
  });
  ASSERT_EQ(c.at("values").size(), 10u);
  for (size_t i = 0; i < c.at("values").size(); ++i) {
    SCOPED_TRACE(i);
    const Tensor da = golden_array(c.at("gradients")[i][0]), db = golden_array(c.at("gradients")[i][1]);
    traced ? static_cast<void>(step(da, db)) : optimizer.apply({da, db}, {a, b});
    expect_golden(a, c.at("values")[i][0], 1e-5);
    expect_golden(b, c.at("values")[i][1], 1e-5);
  }
  EXPECT_EQ(step.traces(), traced ? 1u : 0u);
}

TEST(KerasOptimizers, TenUpdatesGiveKerasValues) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("optimizers")) {
    expect_updates(c, false);
    expect_updates(c, true);
  }
  EXPECT_EQ(golden.at("optimizers").size(), 23u);
}

TEST(KerasSchedules, RatesAreKeras) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("schedules")) {
    SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump());
    const LearningRateSchedule rate = schedule(c.at("class"), c.at("arguments"));
    const auto rates = c.at("rates").get<std::vector<double>>();
    const auto steps = c.at("steps").get<std::vector<int64_t>>();
    const Tensor all = rate(Tensor::of(steps));
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_NEAR(rate(steps[i]).item<float>(), rates[i], 1e-5 * rates[i] + 1e-8) << "step " << steps[i];
      EXPECT_EQ(all.data<float>()[i], rate(steps[i]).item<float>());
    }
  }
  EXPECT_EQ(golden.at("schedules").size(), 11u);
}

}  // namespace
}  // namespace espalier
