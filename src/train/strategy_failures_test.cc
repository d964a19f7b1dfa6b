// What fit leaves behind when a replica fails.
#include <cmath>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

std::vector<std::vector<float>> values_in(const Model& model) {
  std::vector<std::vector<float>> out;
  for (const Variable& variable : model.variables()) {
    if (variable.dtype() == DType::kF32) out.push_back(variable.read().to_vector<float>());
  }
  return out;
}

Sequential failing_model() {
  return Sequential{Dense({.units = 8, .activation = "relu"}), BatchNormalization({.synchronized = true}),
                    Dense({.units = 4})};
}

// A worker raises behind its third step: others say why, keep what they had behind that step, and neither
// fit nor evaluate goes on with the strategy.
TEST(StrategyFailures, AWorkerThatRaisesEndsTheOthersBetweenSteps) {
  const Tensor x = random_normal({64, 6}, 1, 0), y = argmax(slice(x, {0, 0}, {64, 4}), 1);
  std::vector<std::string> errors(3), later(3);
  std::vector<std::vector<std::vector<float>>> behind(3), after(3);
  const auto raised = errors_of_workers(3, [&](const Strategy& workers) {
    const auto scope = workers.scope();
    const auto i = static_cast<size_t>(workers.worker());
    set_seed(5);
    Sequential model = failing_model();
    model.compile({.optimizer = Adam{.learning_rate = 0.05}});
    const auto raise = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
      if (step != 3) return;
      behind[i] = values_in(model);
      if (i == 1) throw std::runtime_error("row 7 has no label");
    }});
    try {
      model.fit(x, y, {.epochs = 2, .batch_size = 8, .callbacks = {raise}});
    } catch (const std::exception& error) {
      errors[i] = error.what();
      if (i == 1) RunContext::current().communicator->abort(errors[i]);
    }
    after[i] = values_in(model);
    try {
      model.evaluate(x, y, {.batch_size = 16});
    } catch (const Error& error) {
      later[i] = error.rule();
    }
  });
  for (const std::string& error : raised) EXPECT_EQ(error, "");
  for (const size_t i : {0, 1, 2}) {
    SCOPED_TRACE(i);
    EXPECT_NE(errors[i].find("row 7 has no label"), std::string::npos) << errors[i];
    ASSERT_FALSE(behind[i].empty());
    EXPECT_EQ(after[i], behind[i]);
    EXPECT_EQ(after[i], after[0]);
    EXPECT_EQ(later[i], "comm.verdict");
  }
}

// A step that one device's rows make NaN changes nothing on any.
TEST(StrategyFailures, AStepThatIsNotFiniteOnOneDeviceChangesNothing) {
  const strategy::Mirrored devices({.devices = 3});
  const auto scope = devices.scope();
  set_seed(5);
  Sequential model = failing_model();
  model.compile({.optimizer = Adam{.learning_rate = 0.05}, .check_numerics = true});
  const Tensor x = random_normal({24, 6}, 1, 0), y = argmax(slice(x, {0, 0}, {24, 4}), 1);
  model.fit(x, y, {.epochs = 2, .batch_size = 24});
  const auto before = values_in(model);
  std::vector<float> rows = x.to_vector<float>();
  rows[6 * 20] = std::nanf("");  // a row of the third device
  try {
    model.fit(Tensor::of(rows, {24, 6}), y, {.batch_size = 24, .shuffle = false});
    ADD_FAILURE() << "a step with NaN was kept";
  } catch (const Error& error) {
    EXPECT_EQ(error.rule(), "check_numerics");
    EXPECT_NE(error.message().find("row 20 of the data"), std::string::npos) << error.message();
  }
  EXPECT_EQ(values_in(model), before);
  model.fit(x, y, {.batch_size = 24});
  EXPECT_NE(values_in(model), before);
}

}  // namespace
}  // namespace espalier
