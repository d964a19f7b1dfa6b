#include <algorithm>

#include "ops/op_test.h"

namespace espalier {
namespace {

OP_TEST(compare) {
  using Direction = bool (*)(double, double);
  const std::pair<Comparison, Direction> directions[] = {
      {Comparison::kEQ, [](double a, double b) { return a == b; }},
      {Comparison::kNE, [](double a, double b) { return a != b; }},
      {Comparison::kGE, [](double a, double b) { return a >= b; }},
      {Comparison::kGT, [](double a, double b) { return a > b; }},
      {Comparison::kLE, [](double a, double b) { return a <= b; }},
      {Comparison::kLT, [](double a, double b) { return a < b; }},
  };
  OpTest test;
  for (const auto& [direction, expected] : directions) {
    // Few distinct values, so that equal pairs occur.
    const auto cases = elementwise_cases<2>(
        [direction = direction](Inputs x) {
          return compare(convert(convert(x[0], DType::kI8), x[0].dtype()), x[1], direction);
        },
        elementwise(
            [expected = expected](double a, double b) { return expected(std::trunc(a), b) ? 1.0 : 0.0; },
            DType::kBool),
        {.int_low = -1, .int_high = 1, .dtypes = kAnyDType});
    test.cases.insert(test.cases.end(), cases.begin(), cases.end());
  }
  return test;
}

TEST(Compare, NanIsUnequalToAll) {
  const Tensor nan = Tensor::of<float>({std::numeric_limits<float>::quiet_NaN()});
  EXPECT_FALSE(compare(nan, nan, Comparison::kEQ).item<bool>());
  EXPECT_TRUE(compare(nan, nan, Comparison::kNE).item<bool>());
  EXPECT_FALSE(compare(nan, 0.0, Comparison::kGE).item<bool>());
  EXPECT_FALSE(compare(nan, 0.0, Comparison::kLT).item<bool>());
}

OP_TEST(select) {
  const OpCall call = [](Inputs x) { return select(x[0], x[1], x[2]); };
  const Oracle oracle = [](Arrays x) {
    return elementwise([](double p, double a, double b) { return p != 0 ? a : b; }, x[1].type.dtype)(x)[0];
  };
  OpTest test{elementwise_cases<3>(call, oracle, {.dtypes = kAnyDType})};
  for (OpCase& c : test.cases) c.inputs[0].dtype = DType::kBool;
  const In predicate{.shape = {}, .dtype = DType::kBool};
  test.cases.push_back({.name = "scalar predicate",
                        .inputs = {predicate, {.shape = {2, 3}}, {.shape = {2, 3}}},
                        .call = call,
                        .oracle = oracle,
                        .dtypes = kAnyDType});
  return test;
}

// By the text of the specification: to integers toward zero and saturating, to bool x != 0, modulo between
// integers.
double converted(DType from, DType to, double x) {
  if (!is_float(from) || !is_integer(to)) return x;
  const int bits = static_cast<int>(8 * size_of(to));
  const double high = std::ldexp(1.0, is_signed_integer(to) ? bits - 1 : bits) - 1;
  const double low = is_signed_integer(to) ? -std::ldexp(1.0, bits - 1) : 0;
  return std::trunc(std::clamp(x, low, high));
}

OP_TEST(convert) {
  OpTest test;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto to = static_cast<DType>(i);
    for (const Shape& shape : {Shape{4, 5}, Shape{}, Shape{0}}) {
      test.cases.push_back(
          {.name = cat("to ", to, " ", shape),
           .inputs = {{.shape = shape, .low = -300, .high = 300, .int_low = -120, .int_high = 120}},
           .call = [to](Inputs x) { return convert(x[0], to); },
           .oracle =
               [to](Arrays x) {
                 const DType from = x[0].type.dtype;
                 return elementwise([=](double v) { return converted(from, to, v); }, to)(x)[0];
               },
           .dtypes = kAnyDType,
           .tolerance = {.ulp = 0.5},
           .no_gradient = to == DType::kF64 ? "the identity"
                          : is_float(to)    ? "rounding has steps"
                                            : nullptr});
    }
  }
  return test;
}

}  // namespace
}  // namespace espalier
