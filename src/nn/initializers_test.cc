#include "espalier/initializers.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/layers.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

struct Moments {
  double mean = 0, variance = 0, fourth = 0, largest = 0;
};

// Of what `initial` makes for 240,000 numbers; fourth: the fourth moment over the square of the variance.
Moments moments(const Initializer& initial, const Shape& shape = {400, 600}) {
  const Tensor values = initial(shape, 1);
  EXPECT_EQ(values.type(), (TensorType{DType::kF32, shape}));
  const auto data = values.data<float>();
  const auto n = static_cast<double>(data.size());
  Moments out;
  for (const float v : data) out.mean += v / n;
  for (const float v : data) {
    const double d = v - out.mean;
    out.variance += d * d / n;
    out.fourth += d * d * d * d / n;
    out.largest = std::max(out.largest, std::abs(d));
  }
  out.fourth /= out.variance * out.variance;
  return out;
}

// In closed form, of distributions with variance 1 before truncation: density p of the normal distribution at
// 2 and probability P inside of [-2, 2] give the variance 1 - 4 p / P and the fourth moment 3 - 28 p / P.
constexpr double kDensity = 0.053990966513188063, kInside = 0.95449973610364158;
constexpr double kTruncatedVariance = 1 - 4 * kDensity / kInside;
constexpr double kTruncatedFourth = (3 - 28 * kDensity / kInside) / (kTruncatedVariance * kTruncatedVariance);

void expect_uniform(const Initializer& initial, double mean, double variance) {
  const Moments m = moments(initial);
  EXPECT_NEAR(m.mean, mean, 5e-3 * std::sqrt(variance));
  EXPECT_NEAR(m.variance / variance, 1, 0.01);
  EXPECT_NEAR(m.fourth, 1.8, 0.02);
  EXPECT_LE(m.largest, std::sqrt(3 * variance) * 1.01);
}
void expect_normal(const Initializer& initial, double mean, double variance) {
  const Moments m = moments(initial);
  EXPECT_NEAR(m.mean, mean, 1e-2 * std::sqrt(variance));
  EXPECT_NEAR(m.variance / variance, 1, 0.015);
  EXPECT_NEAR(m.fourth, 3, 0.06);
  EXPECT_GT(m.largest, 3.5 * std::sqrt(variance));
}
void expect_truncated(const Initializer& initial, double mean, double variance) {
  const Moments m = moments(initial);
  EXPECT_NEAR(m.mean, mean, 1e-2 * std::sqrt(variance));
  EXPECT_NEAR(m.variance / variance, 1, 0.015);
  EXPECT_NEAR(m.fourth, kTruncatedFourth, 0.03);
  const double edge = 2 * std::sqrt(variance / kTruncatedVariance);
  EXPECT_LE(m.largest, edge * 1.02);
  EXPECT_GT(m.largest, edge * 0.98);
}

TEST(Initializers, HaveTheMomentsOfTheirDistribution) {
  expect_uniform("random_uniform", 0, 0.01 / 12);
  expect_uniform("uniform", 0, 0.01 / 12);
  expect_uniform(initializers::RandomUniform({.minval = -1, .maxval = 5}), 2, 36.0 / 12);
  expect_normal("random_normal", 0, 0.0025);
  expect_normal("normal", 0, 0.0025);
  expect_normal(initializers::RandomNormal({.mean = 3, .stddev = 2}), 3, 4);
  expect_truncated("truncated_normal", 0, 0.0025 * kTruncatedVariance);
  expect_truncated(initializers::TruncatedNormal({.mean = -1, .stddev = 2}), -1, 4 * kTruncatedVariance);
}

TEST(Initializers, ScaleTheVarianceByTheFans) {
  // Fans 400 and 600.
  expect_uniform("glorot_uniform", 0, 1.0 / 500);
  expect_truncated("glorot_normal", 0, 1.0 / 500);
  expect_uniform("he_uniform", 0, 2.0 / 400);
  expect_truncated("he_normal", 0, 2.0 / 400);
  expect_uniform("lecun_uniform", 0, 1.0 / 400);
  expect_truncated("lecun_normal", 0, 1.0 / 400);
  expect_truncated("variance_scaling", 0, 1.0 / 400);
  expect_truncated(initializers::VarianceScaling(), 0, 1.0 / 400);
  expect_uniform(initializers::VarianceScaling({.scale = 3, .mode = "fan_out", .distribution = "uniform"}), 0,
                 3.0 / 600);
  expect_normal(initializers::VarianceScaling({.mode = "fan_avg", .distribution = "untruncated_normal"}), 0,
                1.0 / 500);
  // A convolution's kernel: the receptive field is a factor of both fans; one axis is both.
  const auto variance = [](const char* mode, const Shape& shape) {
    return moments(initializers::VarianceScaling({.mode = mode}), shape).variance;
  };
  EXPECT_NEAR(variance("fan_in", {10, 20, 30, 40}) * 200 * 30, 1, 0.015);
  EXPECT_NEAR(variance("fan_out", {10, 20, 30, 40}) * 200 * 40, 1, 0.015);
  EXPECT_NEAR(variance("fan_avg", {240000}) * 240000, 1, 0.015);
}

// Keras' class of these arguments; its defaults are those of the name alone.
Initializer make_initializer(const std::string& name, const json& a) {
  if (a.empty()) {
    std::string ours;
    for (const char c : name) {
      if (c >= 'A' && c <= 'Z') ours += ours.empty() ? "" : "_";
      ours += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return ours;
  }
  if (name == "Constant") return initializers::Constant(a.at("value").get<double>());
  if (name == "Identity") return initializers::Identity(a.at("gain").get<double>());
  if (name == "Orthogonal") return initializers::Orthogonal(a.at("gain").get<double>());
  if (name == "RandomUniform") {
    initializers::RandomUniformOptions options;
    take_argument(a, "minval", options.minval);
    take_argument(a, "maxval", options.maxval);
    return initializers::RandomUniform(options);
  }
  if (name == "VarianceScaling") {
    initializers::VarianceScalingOptions options;
    take_argument(a, "scale", options.scale);
    take_argument(a, "mode", options.mode);
    take_argument(a, "distribution", options.distribution);
    return initializers::VarianceScaling(options);
  }
  initializers::RandomNormalOptions options;
  take_argument(a, "mean", options.mean);
  take_argument(a, "stddev", options.stddev);
  return name == "RandomNormal" ? initializers::RandomNormal(options)
                                : initializers::TruncatedNormal(options);
}

// Both are draws: each figure may be off by five of the deviations that 240,000 numbers leave.
void expect_moments(const Moments& ours, const json& theirs) {
  const double deviation = std::sqrt(theirs.at("variance").get<double>());
  EXPECT_NEAR(ours.mean, theirs.at("mean").get<double>(), 0.015 * deviation);
  EXPECT_NEAR(ours.variance / theirs.at("variance").get<double>(), 1, 0.02);
  EXPECT_NEAR(ours.fourth, theirs.at("fourth").get<double>(), 0.08);
  const double largest = theirs.at("largest").get<double>();
  if (largest > 3 * deviation)  // without an edge
    EXPECT_GT(ours.largest, 3.5 * deviation);
  else
    EXPECT_NEAR(ours.largest / largest, 1, 0.02);
}

TEST(Initializers, AreKeras) {
  const json golden = read_golden("keras_train.json");
  std::set<std::string> classes;
  for (const json& c : golden.at("initializers")) {
    SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump() + c.at("shape").dump());
    classes.insert(c.at("class"));
    const Initializer initial = make_initializer(c.at("class"), c.at("arguments"));
    const Shape shape = c.at("shape").get<std::vector<int64_t>>();
    if (c.contains("moments")) {
      expect_moments(moments(initial, shape), c.at("moments"));
    } else if (c.contains("values")) {
      expect_golden(initial(shape, 1), c.at("values"), 0);
    } else {
      const int64_t columns = shape.back(), rows = num_elements(shape) / columns;
      const Tensor q = reshape(initial(shape, 1), {rows, columns});
      expect_golden(rows > columns ? matmul(transpose(q), q) : matmul(q, transpose(q)), c.at("gram"), 1e-5);
    }
  }
  EXPECT_EQ(classes.size(), 15u);
}

TEST(Initializers, OrthogonalHasOrthonormalRowsOrColumns) {
  for (const Shape& shape : {Shape{5, 5}, {7, 3}, {3, 7}, {2, 3, 4}, {1, 1}, {3, 3, 2, 40}}) {
    const int64_t columns = shape.back(), rows = num_elements(shape) / columns;
    const Tensor q = reshape(initializer("orthogonal")(shape, 3), {rows, columns});
    const Tensor product = rows > columns ? matmul(transpose(q), q) : matmul(q, transpose(q));
    const Tensor distance = max(abs(product - eye(std::min(rows, columns))));
    EXPECT_LT(distance.item<float>(), 1e-6) << to_string(shape);
  }
  const Tensor twice = initializers::Orthogonal(2)({4, 4}, 3), once = initializer("orthogonal")({4, 4}, 3);
  EXPECT_EQ(twice.to_vector<float>(), (once * 2).to_vector<float>());
  // The sign of an entry is open, so both occur.
  int positive = 0;
  for (uint64_t seed = 0; seed < 100; ++seed)
    positive += initializer("orthogonal")({3, 3}, seed).data<float>()[0] > 0;
  EXPECT_GT(positive, 25);
  EXPECT_LT(positive, 75);
  EXPECT_EQ(initializer("orthogonal")({0, 3}, 1).type().elements(), 0);
}

TEST(Initializers, ThatAreNotRandom) {
  const auto values = [](const Initializer& initial, const Shape& shape) {
    return initial(shape, 1).to_vector<float>();
  };
  EXPECT_EQ(values("zeros", {2}), (std::vector<float>{0, 0}));
  EXPECT_EQ(values("ones", {2}), (std::vector<float>{1, 1}));
  EXPECT_EQ(values("constant", {2}), (std::vector<float>{0, 0}));
  EXPECT_EQ(values(initializers::Constant(-2.5), {2}), (std::vector<float>{-2.5, -2.5}));
  EXPECT_EQ(values("identity", {2, 3}), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values(initializers::Identity(3), {2, 2}), (std::vector<float>{3, 0, 0, 3}));
}

TEST(Initializers, AFunctionOfOnesOwnAndObjectsWorkInLayers) {
  Dense dense({.units = 2,
               .kernel_initializer = [](const Shape& shape, uint64_t) { return full(shape, 0.5); },
               .bias_initializer = initializers::Constant(4)});
  EXPECT_EQ(dense(full({1, 3}, 1)).to_vector<float>(), (std::vector<float>{5.5, 5.5}));
}

TEST(Initializers, WhatDoesNotFitIsRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rule_of([] { initializer("identity")({3}, 1); }), "identity.rank");
  EXPECT_EQ(rule_of([] { initializer("orthogonal")({3}, 1); }), "orthogonal.rank");
  EXPECT_EQ(rule_of([] { initializers::RandomUniform({.minval = 1, .maxval = 0}); }), "random_uniform.range");
  EXPECT_EQ(rule_of([] { initializers::RandomUniform({.maxval = kNan}); }), "random_uniform.range");
  EXPECT_EQ(rule_of([] { initializers::RandomNormal({.mean = kNan}); }), "random_normal.mean");
  EXPECT_EQ(rule_of([] { initializers::RandomNormal({.stddev = -1}); }), "random_normal.stddev");
  EXPECT_EQ(rule_of([] { initializers::TruncatedNormal({.stddev = kNan}); }), "truncated_normal.stddev");
  for (const double bad : {0.0, -1.0, kNan})
    EXPECT_EQ(rule_of([&] { initializers::VarianceScaling({.scale = bad}); }), "variance_scaling.scale");
  EXPECT_EQ(rule_of([] { initializers::VarianceScaling({.mode = "fan"}); }), "variance_scaling.mode");
  EXPECT_EQ(rule_of([] { initializers::VarianceScaling({.distribution = "normal"}); }),
            "variance_scaling.distribution");
}

TEST(Initializers, EveryKnownNameIsListed) {
  try {
    initializer("none");
    FAIL();
  } catch (const ValueError& error) {
    for (const char* name :
         {"zeros", "ones", "constant", "identity", "orthogonal", "uniform", "random_uniform", "normal",
          "random_normal", "truncated_normal", "variance_scaling", "glorot_uniform", "glorot_normal",
          "he_uniform", "he_normal", "lecun_uniform", "lecun_normal"}) {
      EXPECT_NE(error.message().find(std::string(" ") + name), std::string::npos) << name;
      EXPECT_EQ(initializer(name)({2, 3}, 1).shape(), (Shape{2, 3})) << name;
    }
  }
}

}  // namespace
}  // namespace espalier
