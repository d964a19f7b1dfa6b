#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/layers.h"
#include "espalier/ops.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

TEST(ReLULayer, FollowsItsFormula) {
  const std::vector<float> values = {-3, -1, -0.25f, 0, 0.25f, 0.5f, 0.75f, 1, 2, 7};
  const Tensor x = Tensor::of(values);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double max_value : {infinity, 6.0, 1.0, 0.0}) {
    for (const double slope : {0.0, 0.3}) {
      for (const double threshold : {0.0, 0.5}) {
        ReLU layer({.max_value = max_value, .negative_slope = slope, .threshold = threshold});
        const auto y = layer(x).to_vector<float>();
        for (size_t i = 0; i < values.size(); ++i) {
          const double v = values[i];
          EXPECT_FLOAT_EQ(
              y[i], static_cast<float>(v > threshold ? std::min(v, max_value) : slope * (v - threshold)))
              << v << " " << max_value << " " << slope << " " << threshold;
        }
      }
    }
  }
}

TEST(ReLULayer, HasNoSlopeOnItsBounds) {
  for (const double max_value : {6.0, 4.0}) {
    for (const double threshold : {0.0, 0.5}) {
      ReLU layer({.max_value = max_value, .threshold = threshold});
      const Tensor x =
          Tensor::of<float>({static_cast<float>(threshold), 1, static_cast<float>(max_value), 9});
      GradientTape tape;
      tape.watch(x);
      EXPECT_EQ(tape.gradient(reduce_sum(layer(x), {0}), x).to_vector<float>(),
                (std::vector<float>{0, 1, 0, 0}))
          << max_value << " " << threshold;
    }
  }
}

TEST(ReLULayer, RefusesNegativeOptions) {
  EXPECT_EQ(rule_of([] { ReLU({.max_value = -1}); }), "relu.max_value");
  EXPECT_EQ(rule_of([] { ReLU({.negative_slope = -0.1}); }), "relu.negative_slope");
  EXPECT_EQ(rule_of([] { ReLU({.threshold = std::nan("")}); }), "relu.threshold");
}

}  // namespace
}  // namespace espalier
