// Steps of training against the figures of tests/golden/keras_steps.py.
#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "ir/golden_test.h"
#include "optim/keras_optimizer_test.h"

namespace espalier {
namespace {

using nlohmann::json;

// The sum of its weights times its inputs, so that these are the gradients.
struct Products : Model {
  explicit Products(const json& start) : start(start) {}
  void build_many(Inputs<TensorType>) override {
    add_variable("a", golden_array(start[0]));
    add_variable("b", golden_array(start[1]));
  }
  Tensors call_many(Inputs<Tensor> x) override {
    return {reduce_sum(x[0] * weight("a").read(), {1}) + reduce_sum(x[1] * weight("b").read(), {1, 2})};
  }
  json start;
};

void expect_keras_steps(const json& c, bool eager) {
  const json& scale = c.at("loss_scale");
  SCOPED_TRACE(cat(c.at("class").get<std::string>(), c.at("arguments").dump(), scale.dump(),
                   eager ? " eager" : " traced"));
  Optimizer optimizer = keras_optimizer(c.at("class"), c.at("arguments"));
  Products model(c.at("start"));
  std::optional<LossScale> loss_scale;
  if (!scale.is_null())
    loss_scale = LossScale{.initial = scale.at("initial"), .growth_steps = scale.at("growth_steps")};
  model.compile({.optimizer = optimizer,
                 .loss = {"given", [](const Tensor&, const Tensor& outputs) { return outputs; }},
                 .metrics = {},
                 .run_eagerly = eager,
                 .loss_scale = loss_scale});
  ASSERT_EQ(c.at("steps").size(), 10u);
  for (size_t i = 0; i < c.at("steps").size(); ++i) {
    SCOPED_TRACE(i);
    const json& wanted = c.at("steps")[i];
    Tensors rows;
    for (const json& gradient : wanted.at("gradients"))
      rows.push_back(expand_dims(golden_array(gradient), 0));
    const Logs logs = model.train_on_batch(rows, full({1}, 0));
    for (size_t k = 0; k < 2; ++k) expect_golden(model.variables()[k], wanted.at("values")[k], 1e-5);
    EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), wanted.at("iterations"));
    if (loss_scale) {
      EXPECT_EQ(logs["loss_scale"], wanted.at("loss_scale").get<double>());
    }
  }
  optimizer.finalize_variables(model.variables());
  expect_keras_final(model.variables(), c);
}

TEST(KerasSteps, LossScalesSkippedStepsAveragesAndSumsGoAsKeras) {
  const json golden = read_golden("keras_steps.json");
  for (const json& c : golden.at("cases")) {
    for (const bool eager : {false, true}) expect_keras_steps(c, eager);
  }
  EXPECT_EQ(golden.at("cases").size(), 44u);
}

}  // namespace
}  // namespace espalier
