#include "ops/op_test.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using F1 = double (*)(double);

std::vector<OpCase> cases(const OpCall& f, F1 oracle, ElementwiseOptions options = {}) {
  return elementwise_cases<1>(f, elementwise(oracle), options);
}
std::vector<OpCase> joined(std::vector<OpCase> a, std::vector<OpCase> b) {
  for (OpCase& c : b) {
    c.name += " (other option)";
    a.push_back(std::move(c));
  }
  return a;
}

OP_TEST(relu) {
  return {cases([](Inputs x) { return relu(x[0]); }, [](double x) { return x > 0 ? x : 0; }, {.kinks = {0}})};
}
OP_TEST(relu_gradient) {
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0}}) {
    test.cases.push_back({.name = to_string(shape),
                          .inputs = {{.shape = shape, .kinks = {0}}, {.shape = shape}},
                          .call =
                              [](Inputs x) {
                                return emit(*find_op("relu_gradient"), nullptr, {x[0], x[1]});
                              },
                          .oracle = elementwise([](double y, double g) { return y > 0 ? g : 0; })});
  }
  return test;
}
OP_TEST(tanh_slope) {
  return {cases([](Inputs x) { return emit(op_tanh_slope, nullptr, {x[0]}); },
                [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); },
                {.low = -4, .high = 4, .kinks = {0}, .tolerance = {.ulp = 8}})};
}
OP_TEST(relu6) {
  return {cases([](Inputs x) { return relu6(x[0]); },
                [](double x) { return std::min(std::max(x, 0.0), 6.0); },
                {.low = -4, .high = 10, .kinks = {0, 6}})};
}
OP_TEST(leaky_relu) {
  return {joined(cases([](Inputs x) { return leaky_relu(x[0]); },
                       [](double x) { return x > 0 ? x : 0.2 * x; }, {.kinks = {0}}),
                 cases([](Inputs x) { return leaky_relu(x[0], 0.0625); },
                       [](double x) { return x > 0 ? x : 0.0625 * x; }, {.kinks = {0}}))};
}
OP_TEST(elu) {
  return {joined(cases([](Inputs x) { return elu(x[0]); }, [](double x) { return x > 0 ? x : std::expm1(x); },
                       {.kinks = {0}}),
                 cases([](Inputs x) { return elu(x[0], 2.5); },
                       [](double x) { return x > 0 ? x : 2.5 * std::expm1(x); }, {.kinks = {0}}))};
}
// Half of the tail's relative error is that of its argument: an ulp of bound is not enough.
OP_TEST(gelu) {
  const Tolerance tolerance{.ulp = 4};
  return {joined(
      cases([](Inputs x) { return gelu(x[0]); },
            [](double x) { return x * 0.5 * std::erfc(-x * std::sqrt(0.5)); }, {.tolerance = tolerance}),
      cases([](Inputs x) { return gelu(x[0], true); },
            [](double x) {
              return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
            },
            {.tolerance = {.ulp = 24}}))};
}
OP_TEST(silu) {
  return {cases([](Inputs x) { return silu(x[0]); }, [](double x) { return x / (1 + std::exp(-x)); },
                {.low = -6, .high = 6, .tolerance = {.ulp = 3}})};
}
OP_TEST(softplus) {
  return {cases([](Inputs x) { return softplus(x[0]); }, [](double x) { return std::log1p(std::exp(x)); },
                {.low = -6, .high = 6, .kinks = {0}, .tolerance = {.ulp = 2}})};
}

TEST(Activations, FarFromZero) {
  const Tensor x = Tensor::of<float>({-1e30f, -100, 100, 1e30f, NAN});
  const auto check = [&](const Tensor& y, std::vector<float> expected) {
    const auto v = y.to_vector<float>();
    EXPECT_EQ(std::vector<float>(v.begin(), v.end() - 1), expected);
    EXPECT_TRUE(std::isnan(v[4]));
  };
  check(relu(x), {0, 0, 100, 1e30f});
  check(relu6(x), {0, 0, 6, 6});
  check(elu(x), {-1, -1, 100, 1e30f});
  check(gelu(x), {-0.f, -0.f, 100, 1e30f});
  check(gelu(x, true), {-0.f, -0.f, 100, 1e30f});
  EXPECT_EQ(softplus(x).to_vector<float>()[2], 100);
  EXPECT_EQ(silu(x).to_vector<float>()[3], 1e30f);
  EXPECT_FALSE(std::signbit(relu(Tensor::scalar(-0.f)).item<float>()));
}

}  // namespace
}  // namespace espalier
