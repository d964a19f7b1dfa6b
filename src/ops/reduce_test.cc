#include "ops/op_test.h"

namespace espalier {
namespace {

using Combine = double (*)(double, double);

Oracle reduced(Dims axes, double init, Combine combine) {
  return [=](Arrays x) {
    const Shape& shape = x[0].shape();
    Array out{{x[0].type.dtype, {}}, {}};
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!axes.contains(static_cast<int64_t>(axis))) out.type.shape.push_back(shape[axis]);
    }
    out.values.assign(static_cast<size_t>(out.type.elements()), init);
    const Dims strides = row_major_strides(shape);
    for (size_t i = 0; i < x[0].values.size(); ++i) {
      size_t to = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (axes.contains(static_cast<int64_t>(axis))) continue;
        to = to * static_cast<size_t>(shape[axis]) +
             i / static_cast<size_t>(strides[axis]) % static_cast<size_t>(shape[axis]);
      }
      out.values[to] = combine(out.values[to], x[0].values[i]);
    }
    return out;
  };
}

struct Kind {
  const char* name;
  Tensor (*call)(Operand, const Dims&);
  double init;
  Combine combine;
  unsigned dtypes;
  const char* no_gradient;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Kind kKinds[] = {
    {"sum", reduce_sum, 0, [](double a, double b) { return a + b; }, kAnyDType, nullptr},
    {"prod", reduce_prod, 1, [](double a, double b) { return a * b; }, kAnyDType, nullptr},
    {"max", reduce_max, -kInfinity, [](double a, double b) { return std::max(a, b); }, kAnyDType, nullptr},
    {"min", reduce_min, kInfinity, [](double a, double b) { return std::min(a, b); }, kAnyDType, nullptr},
    {"and", reduce_and, -1,
     [](double a, double b) {
       return static_cast<double>(static_cast<int64_t>(a) & static_cast<int64_t>(b));
     },
     kIntegers | kBools, "not a function of floats"},
    {"or", reduce_or, 0,
     [](double a, double b) {
       return static_cast<double>(static_cast<int64_t>(a) | static_cast<int64_t>(b));
     },
     kIntegers | kBools, "not a function of floats"},
};

OP_TEST(reduce) {
  OpTest test;
  test.unbatched = {1};
  const auto add = [&](const Kind& kind, const Shape& shape, const Dims& axes) {
    test.cases.push_back({.name = cat(kind.name, " of ", shape, " along ", axes),
                          .inputs = {{.shape = shape, .int_high = 9, .kinks = {0}, .distinct = true}},
                          .call = [=](Inputs x) { return kind.call(x[0], axes); },
                          .oracle = reduced(axes, kind.init, kind.combine),
                          .dtypes = kind.dtypes,
                          .tolerance = {.ulp = 1, .absolute = 4},
                          .no_gradient = kind.no_gradient});
  };
  for (const Kind& kind : kKinds) {
    add(kind, {2, 4}, {1});
    add(kind, {2, 3, 2}, {0, 2});
    add(kind, {3}, {0});
    add(kind, {1, 1}, {1});
    add(kind, {0, 3}, {1});
  }
  add(kKinds[0], {0, 3}, {0});
  add(kKinds[1], {0, 3}, {0});
  return test;
}

TEST(Reduce, EmptyMaximumIsTheLowestValue) {
  EXPECT_EQ(reduce_max(full({0, 1}, 0), {0}).to_vector<float>(),
            std::vector<float>{-std::numeric_limits<float>::infinity()});
  EXPECT_EQ(reduce_max(full({0, 1}, 0, DType::kI8), {0}).to_vector<int8_t>(), std::vector<int8_t>{-128});
}

}  // namespace
}  // namespace espalier
