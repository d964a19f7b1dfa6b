#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/layers.h"
#include "espalier/random.h"

namespace espalier {
namespace {

// x [a, b, c] normalised over the axes that `over` names, in f64.
std::vector<double> normalised(const Tensor& x, const std::vector<bool>& over, double epsilon) {
  const auto values = x.data<float>();
  const auto place = [&](size_t i) {
    const auto b = static_cast<size_t>(x.size(1)), c = static_cast<size_t>(x.size(2));
    const size_t at[3] = {i / (b * c), i / c % b, i % c};
    size_t out = 0;
    for (size_t axis = 0; axis < 3; ++axis) out = out * 100 + (over[axis] ? 0 : at[axis]);
    return out;
  };
  std::vector<double> out;
  for (size_t i = 0; i < values.size(); ++i) {
    double count = 0, sum = 0, squares = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      if (place(k) == place(i)) ++count, sum += values[k];
    }
    for (size_t k = 0; k < values.size(); ++k) {
      if (place(k) == place(i)) squares += std::pow(values[k] - sum / count, 2);
    }
    out.push_back((values[i] - sum / count) / std::sqrt(squares / count + epsilon));
  }
  return out;
}

TEST(LayerNormalizationLayer, NormalisesOverItsAxes) {
  const Tensor x = Generator(2).uniform({3, 4, 5});
  const std::vector<std::pair<Dims, std::vector<bool>>> cases = {
      {{-1}, {false, false, true}}, {{1}, {false, true, false}}, {{2, 1}, {false, true, true}}};
  for (const auto& [axis, over] : cases) {
    LayerNormalization layer({.axis = axis, .epsilon = 0.01});
    const auto y = layer(x).to_vector<float>();
    const std::vector<double> wanted = normalised(x, over, 0.01);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 2e-6) << to_string(axis);
  }
}

TEST(LayerNormalizationLayer, MovesItsAxisBack) {
  const Tensor x = Generator(2).uniform({3, 4, 5});
  const Tensor y = LayerNormalization({.axis = {1}})(x);
  const Tensor longer = LayerNormalization({.axis = {1}})(reshape(x, {3, 4, 5, 1}));
  EXPECT_EQ(longer.shape(), (Shape{3, 4, 5, 1}));
  EXPECT_EQ(longer.to_vector<float>(), y.to_vector<float>());
}

TEST(LayerNormalizationLayer, GammaAndBetaStandInTheOrderOfAxes) {
  const Tensor x = Generator(3).uniform({2, 2, 3});
  LayerNormalization layer({.axis = {2, 1}, .epsilon = 0}),
      plain({.axis = {1, 2}, .epsilon = 0, .center = false, .scale = false});
  const auto unit = plain(x).to_vector<float>();
  EXPECT_TRUE(plain.variables().empty());
  layer(x);
  ASSERT_EQ(layer.trainable_variables().size(), 2u);
  EXPECT_EQ(layer.variables()[0].shape(), (Shape{2, 3}));
  layer.variables()[0].assign(Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  layer.variables()[1].assign(Tensor::of<float>({0, 10, 20, 30, 40, 50}, {2, 3}));
  const auto y = layer(x).to_vector<float>();
  for (size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(y[i], unit[i] * static_cast<float>(i % 6 + 1) + 10 * static_cast<float>(i % 6), 1e-4);
}

TEST(LayerNormalizationLayer, Bf16IsNormalisedInF32) {
  const Tensor x = convert(Generator(4).uniform({4, 64}), DType::kBF16);
  LayerNormalization layer({.dtype = "mixed_bfloat16"}), exact;
  const Tensor y = layer(x), wanted = convert(exact(convert(x, DType::kF32)), DType::kBF16);
  ASSERT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(convert(y, DType::kF32).to_vector<float>(), convert(wanted, DType::kF32).to_vector<float>());
  EXPECT_EQ(layer.variables()[0].dtype(), DType::kF32);
}

TEST(LayerNormalizationLayer, RefusesAxesThatDoNotFit) {
  const Tensor x = full({2, 3}, 1);
  for (const Dims& axis : {Dims{0}, Dims{2}, Dims{-2}, Dims{1, -1}})
    EXPECT_EQ(rule_of([&] { LayerNormalization({.axis = axis})(x); }), "layer_normalization.axis");
  EXPECT_EQ(rule_of([] { LayerNormalization({.axis = {}}); }), "layer_normalization.axes");
  EXPECT_EQ(rule_of([] { LayerNormalization({.epsilon = -1}); }), "layer_normalization.epsilon");
  LayerNormalization layer;
  layer(x);
  EXPECT_EQ(rule_of([&] { layer(full({2, 4}, 1)); }), "layer_normalization.features");
}

}  // namespace
}  // namespace espalier
