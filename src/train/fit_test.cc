#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "espalier/model.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

// Two classes in the plane: inside or outside of a circle. No line separates them.
std::pair<Tensor, Tensor> circle(int64_t rows, uint64_t seed) {
  Philox random(seed);
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t i = 0; i < rows; ++i) {
    const float a = 2 * random.uniform() - 1, b = 2 * random.uniform() - 1;
    x.insert(x.end(), {a, b});
    y.push_back(a * a + b * b < 0.5f);
  }
  return {Tensor::of(x, {rows, 2}), Tensor::of(y, {rows})};
}

TEST(Fit, LearnsACircle) {
  set_seed(1);
  const auto [x, y] = circle(500, 1);
  const auto [test_x, test_y] = circle(300, 2);
  Sequential model{Dense({.units = 16, .activation = "relu"}), Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.02}});
  const auto history =
      model.fit(x, y, {.epochs = 15, .batch_size = 32, .validation_x = test_x, .validation_y = test_y});
  ASSERT_EQ(history.size(), 15u);
  EXPECT_LT(history.back().at("loss"), history.front().at("loss"));
  EXPECT_GT(history.back().at("val_accuracy"), 0.93);
  EXPECT_DOUBLE_EQ(model.evaluate(test_x, test_y).at("accuracy"), history.back().at("val_accuracy"));

  const Tensor outputs = model.predict(test_x, 7);
  int64_t right = 0;
  for (int64_t i = 0; i < 300; ++i)
    right +=
        (outputs.data<float>()[2 * i + 1] > outputs.data<float>()[2 * i]) == (test_y.data<int32_t>()[i] == 1);
  EXPECT_NEAR(static_cast<double>(right) / 300, history.back().at("val_accuracy"), 1e-6);

  std::vector<std::string> paths;
  for (const Variable& variable : model.variables()) paths.push_back(variable.path());
  EXPECT_EQ(paths,
            (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}));
}

TEST(Fit, TheSeedDecidesEveryBit) {
  const auto [x, y] = circle(100, 3);
  std::vector<std::vector<float>> outputs;
  for (const uint64_t s : {5, 5, 6}) {
    set_seed(s);
    Sequential model{Dense({.units = 4, .activation = "relu"}), Dense({.units = 2})};
    model.compile({.optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9}});
    model.fit(x, y, {.epochs = 2, .batch_size = 16});
    outputs.push_back(model.predict(x).to_vector<float>());
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_NE(outputs[0], outputs[2]);
}

TEST(Fit, MistakesAreNamed) {
  const auto [x, y] = circle(10, 1);
  Sequential model{Dense({.units = 2})};
  EXPECT_THROW(model.fit(x, y), StateError);
  EXPECT_THROW(model.compile({.metrics = {"acuracy"}}), ValueError);
  model.compile();
  EXPECT_THROW(model.fit(x, Tensor::of(std::vector<int32_t>(9), {9})), ShapeError);
  EXPECT_THROW(model.fit(x, Tensor::of(std::vector<float>(10), {10})), ShapeError);
  EXPECT_NO_THROW(model.fit(x, y));
}

}  // namespace
}  // namespace espalier
