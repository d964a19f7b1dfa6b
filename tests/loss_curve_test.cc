// The loss of 50 training steps against JAX's (tests/golden/mlp_loss.py made the figures).
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

Tensor formula(const Shape& shape, double factor, double scale, double offset = 0) {
  std::vector<float> values(static_cast<size_t>(num_elements(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(offset + scale * std::sin(static_cast<double>(i) * factor));
  }
  return Tensor::of(values, shape);
}

std::vector<double> golden(const std::string& name) {
  std::ifstream file("tests/golden/" + name);
  std::vector<double> out;
  for (double value; file >> value;) out.push_back(value);
  return out;
}

// Calls step(images, labels) on 50 batches, each of which gives a loss close to the expected one.
template <class Step, class Bound>
void expect_losses(Step step, const Tensor& x, const Tensor& y, const std::vector<double>& expected,
                   Bound bound) {
  ASSERT_EQ(expected.size(), 50u);
  const auto* images = x.data<float>().data();
  const auto* labels = y.data<int32_t>().data();
  for (size_t i = 0; i < 50; ++i) {
    const Tensor batch_x = Tensor::from_bytes({DType::kF32, {64, 784}}, images + i * 64 * 784);
    const Tensor batch_y = Tensor::from_bytes({DType::kI32, {64}}, labels + i * 64);
    ASSERT_NEAR(step(batch_x, batch_y).template item<float>(), expected[i], bound(expected[i]))
        << "step " << i;
  }
}

void expect_curve(const Tensor& x, const Tensor& y, const std::vector<double>& expected) {
  Variable w1(formula({784, 128}, 0.7, 0.05)), b1(full({128}, 0)), w2(formula({128, 10}, 0.9, 0.1)),
      b2(full({10}, 0));
  Optimizer adam = Adam{.learning_rate = 1e-3};
  const std::vector<Variable> weights{w1, b1, w2, b2};
  auto step = function([&](const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    const Tensor hidden = maximum(dot(images, w1) + b1, 0);
    const Tensor loss = reduce_sum(softmax_cross_entropy(dot(hidden, w2) + b2, labels), {0}) / 64;
    adam.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  expect_losses(step, x, y, expected, [](double) { return 1e-4; });
}

// The same by layers under mixed_bfloat16, against Keras' layers under it.
void expect_mixed_curve(const Tensor& x, const Tensor& y, const std::vector<double>& expected) {
  const DTypePolicy mixed = "mixed_bfloat16";
  Sequential model{Dense({.units = 128, .activation = "relu", .dtype = mixed}),
                   Dense({.units = 10, .dtype = mixed})};
  model(full({64, 784}, 0));
  std::vector<Variable> weights = model.trainable_variables();
  weights[0].assign(formula({784, 128}, 0.7, 0.05));
  weights[2].assign(formula({128, 10}, 0.9, 0.1));
  Optimizer adam = Adam{.learning_rate = 1e-3};
  auto step = function([&](const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = mean(softmax_cross_entropy(convert(model(images), DType::kF32), labels));
    adam.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  expect_losses(step, x, y, expected, [](double loss) { return 0.01 * loss; });
}

TEST(LossCurve, FormulaDataFollowsJax) {
  std::vector<int32_t> y(3200);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(i * 7 / 3 % 10);
  expect_curve(formula({3200, 784}, 0.37, 0.5, 0.5), Tensor::of(y, {3200}), golden("mlp_loss_formula.txt"));
}

TEST(LossCurve, MnistFollowsJax) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  expect_curve(digits.x, digits.y, golden("mlp_loss_mnist.txt"));
}

TEST(LossCurve, MixedFormulaDataFollowsKeras) {
  std::vector<int32_t> y(3200);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(i * 7 / 3 % 10);
  expect_mixed_curve(formula({3200, 784}, 0.37, 0.5, 0.5), Tensor::of(y, {3200}),
                     golden("mlp_loss_formula_bf16.txt"));
}

TEST(LossCurve, MixedMnistFollowsKeras) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  expect_mixed_curve(digits.x, digits.y, golden("mlp_loss_mnist_bf16.txt"));
}

// What `espalier train` does, from several seeds: at least 94 % of the last 2,000 of 10,000 images.
TEST(LossCurve, MnistReaches94PercentFromEverySeed) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  const auto [train, test] = digits.split(8000);
  ASSERT_EQ(test.rows(), 2000);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    set_seed(seed);
    Sequential model{Flatten(), Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
    model.compile({.optimizer = Adam{}});
    model.fit(train.x, train.y, {.epochs = 5, .batch_size = 64});
    EXPECT_GE(model.evaluate(test.x, test.y).at("accuracy"), 0.94) << "seed " << seed;
  }
}

}  // namespace
}  // namespace espalier
