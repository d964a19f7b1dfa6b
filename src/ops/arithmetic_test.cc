#include "ops/op_test.h"

namespace espalier {
namespace {

OP_TEST(add) {
  return {elementwise_cases<2>([](Inputs x) { return add(x[0], x[1]); },
                               elementwise([](double a, double b) { return a + b; }), {.dtypes = kAnyDType})};
}

OP_TEST(subtract) {
  return {elementwise_cases<2>([](Inputs x) { return subtract(x[0], x[1]); },
                               elementwise([](double a, double b) { return a - b; }), {.dtypes = kNumbers})};
}

OP_TEST(multiply) {
  return {elementwise_cases<2>([](Inputs x) { return multiply(x[0], x[1]); },
                               elementwise([](double a, double b) { return a * b; }),
                               {.int_low = -50, .int_high = 50, .dtypes = kAnyDType})};
}

OP_TEST(divide) {
  const Oracle oracle = [](Arrays x) {
    const bool whole = !is_float(x[0].type.dtype);
    return elementwise([&](double a, double b) { return whole ? std::trunc(a / b) : a / b; })(x)[0];
  };
  OpTest test{elementwise_cases<2>([](Inputs x) { return divide(x[0], x[1]); }, oracle,
                                   {.int_low = -50, .int_high = 50, .dtypes = kNumbers})};
  for (OpCase& c : test.cases) {
    c.inputs[1].low = 0.5;
    c.inputs[1].int_low = 1;
    c.inputs[1].int_high = 7;
  }
  return test;
}

TEST(Divide, IntegersByZeroAndOverflow) {
  EXPECT_EQ(divide(Tensor::of<int32_t>({7, -7}), 0).to_vector<int32_t>(), (std::vector<int32_t>{-1, -1}));
  const auto lowest = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(divide(Tensor::of<int32_t>({lowest, 7}), -1).to_vector<int32_t>(),
            (std::vector<int32_t>{lowest, -7}));
}

OP_TEST(maximum) {
  OpTest test{elementwise_cases<2>([](Inputs x) { return maximum(x[0], x[1]); },
                                   elementwise([](double a, double b) { return a < b ? b : a; }),
                                   {.dtypes = kAnyDType})};
  // Two interleaved grids never tie.
  for (OpCase& c : test.cases) {
    c.inputs[0].kinks = {-1.5, -1, -0.5, 0, 0.5, 1, 1.5};
    c.inputs[0].gap = 0.15;
    c.inputs[1].kinks = {-1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75};
    c.inputs[1].gap = 0.15;
  }
  return test;
}

TEST(Maximum, NanWinsAndMinusZeroIsBelowZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto out =
      maximum(Tensor::of<float>({nan, 1, -0.0f, 0.0f}), Tensor::of<float>({1, nan, 0.0f, -0.0f}));
  EXPECT_TRUE(std::isnan(out.data<float>()[0]) && std::isnan(out.data<float>()[1]));
  EXPECT_FALSE(std::signbit(out.data<float>()[2]) || std::signbit(out.data<float>()[3]));
}

OP_TEST(negate) {
  return {elementwise_cases<1>([](Inputs x) { return negate(x[0]); },
                               elementwise([](double x) { return -x; }), {.dtypes = kNumbers})};
}

OP_TEST(exponential) {
  return {elementwise_cases<1>([](Inputs x) { return exponential(x[0]); },
                               elementwise([](double x) { return std::exp(x); }), {})};
}

OP_TEST(exponential_minus_one) {
  return {elementwise_cases<1>([](Inputs x) { return exponential_minus_one(x[0]); },
                               elementwise([](double x) { return std::expm1(x); }), {})};
}

OP_TEST(log) {
  return {elementwise_cases<1>([](Inputs x) { return log(x[0]); },
                               elementwise([](double x) { return std::log(x); }), {.low = 0.2, .high = 4})};
}

OP_TEST(sqrt) {
  return {elementwise_cases<1>([](Inputs x) { return sqrt(x[0]); },
                               elementwise([](double x) { return std::sqrt(x); }),
                               {.low = 0.2, .high = 4, .tolerance = {.ulp = 0.5}})};
}

}  // namespace
}  // namespace espalier
