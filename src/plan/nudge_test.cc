#include "plan/nudge.h"

#include <cmath>

#include <gtest/gtest.h>

#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

std::vector<float> kernel_behind_a_step(std::vector<std::shared_ptr<Callback>> callbacks) {
  set_seed(3);
  Sequential model{Dense({.units = 4})};
  // A rate of 0: the step itself changes nothing.
  model.compile({.optimizer = SGD({.learning_rate = 0.0}), .loss = MeanSquaredError()});
  model.fit(full({8, 5}, 1), full({8, 4}, 1),
            {.epochs = 1, .batch_size = 8, .callbacks = std::move(callbacks)});
  for (const Variable& variable : model.trainable_variables()) {
    if (variable.shape().size() == 1) {
      EXPECT_EQ(variable.read().to_vector<float>(), std::vector<float>(4));
    }
  }
  return model.trainable_variables().front().read().to_vector<float>();
}

TEST(Nudge, MovesEveryWeightByItsLastBitAndNoZero) {
  const std::vector<float> still = kernel_behind_a_step({}), moved = kernel_behind_a_step({Nudge(1)});
  ASSERT_EQ(still.size(), 20u);
  int up = 0;
  for (size_t i = 0; i < still.size(); ++i) {
    const bool above = moved[i] == std::nextafter(still[i], INFINITY);
    EXPECT_TRUE(above || moved[i] == std::nextafter(still[i], -INFINITY)) << still[i] << " to " << moved[i];
    up += above;
  }
  EXPECT_GT(up, 0);
  EXPECT_LT(up, 20);
  EXPECT_EQ(moved, kernel_behind_a_step({Nudge(1)}));
  EXPECT_NE(moved, kernel_behind_a_step({Nudge(2)}));
}

}  // namespace
}  // namespace espalier
