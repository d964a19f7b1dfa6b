// Optimizers and schedules against the figures of tests/golden/keras_train.py and keras_steps.py.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "optim/keras_optimizer_test.h"

namespace espalier {
namespace {

using nlohmann::json;

// Ten updates of two variables, each after Keras' values; `traced` in one plan.
void expect_updates(const json& c, bool traced) {
  SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump() + (traced ? " traced" : " eager"));
  Optimizer optimizer = keras_optimizer(c.at("class"), c.at("arguments"));
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

// Ten calls of apply, each after Keras' values, where no loss scale stands before them.
void expect_steps(const json& c, bool traced) {
  SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump() + (traced ? " traced" : " eager"));
  Optimizer optimizer = keras_optimizer(c.at("class"), c.at("arguments"));
  Variable a(golden_array(c.at("start")[0]), {.name = "a"}), b(golden_array(c.at("start")[1]), {.name = "b"});
  const auto apply = [&](const Tensor& da, const Tensor& db) -> std::vector<Tensor> {
    optimizer.apply({optimizer.scale_loss(da), optimizer.scale_loss(db)}, {a, b});
    return {};
  };
  const auto step = function(apply);
  for (size_t i = 0; i < c.at("steps").size(); ++i) {
    SCOPED_TRACE(i);
    const json& wanted = c.at("steps")[i];
    const Tensor da = golden_array(wanted.at("gradients")[0]), db = golden_array(wanted.at("gradients")[1]);
    traced ? step(da, db) : apply(da, db);
    expect_golden(a, wanted.at("values")[0], 1e-5);
    expect_golden(b, wanted.at("values")[1], 1e-5);
    EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), wanted.at("iterations"));
  }
  optimizer.finalize_variables({a, b});
  expect_keras_final({a, b}, c);
  EXPECT_EQ(step.traces(), traced ? 1u : 0u);
}

TEST(KerasOptimizers, AveragesAndSumsOfGradientsGoAsKeras) {
  const json golden = read_golden("keras_steps.json");
  int cases = 0;
  for (const json& c : golden.at("cases")) {
    if (!c.at("loss_scale").is_null()) continue;
    expect_steps(c, false);
    expect_steps(c, true);
    ++cases;
  }
  EXPECT_EQ(cases, 29);
}

TEST(KerasSchedules, RatesAreKeras) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("schedules")) {
    SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump());
    const LearningRateSchedule rate = keras_schedule(c.at("class"), c.at("arguments"));
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
