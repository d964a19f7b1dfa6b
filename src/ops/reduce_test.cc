#include "espalier/transforms.h"
#include "grad/grad.h"
#include "interp/interpreter.h"
#include "ops/op_test.h"
#include "text/text.h"

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

std::shared_ptr<Graph> reduce_with_initial_value(const std::string& reducer) {
  const std::string text = R"("builtin.module"() ({
    "func.func"() <{function_type = (tensor<3xf64>, tensor<f64>) -> tensor<f64>, sym_name = "main", sym_visibility = "public"}> ({
    ^bb0(%x: tensor<3xf64>, %init: tensor<f64>):
      %0 = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %1 = "stablehlo.REDUCER"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        "stablehlo.return"(%1) : (tensor<f64>) -> ()
      }) : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
      "func.return"(%0) : (tensor<f64>) -> ()
    }) : () -> ()
  }) : () -> ())";
  const size_t at = text.find("REDUCER");
  return parse_program(text.substr(0, at) + reducer + text.substr(at + 7));
}

TEST(Reduce, InitialValuesHaveGradients) {
  const size_t sources[] = {0, 1};
  const std::vector<Literal> inputs{Literal::of({2.0, 3.0, 5.0}), Literal::splat({DType::kF64, {}}, 7.0)};
  const auto product = interpret(*add_gradients(*reduce_with_initial_value("multiply"), 0, sources), inputs,
                                 RunContext::current());
  EXPECT_EQ(load_scalar(DType::kF64, product[0].raw()), 210);
  EXPECT_EQ(product[1].view().as<double>()[2], 42);
  EXPECT_EQ(load_scalar(DType::kF64, product[2].raw()), 30);
  const auto sum =
      interpret(*add_gradients(*reduce_with_initial_value("add"), 0, sources), inputs, RunContext::current());
  EXPECT_EQ(load_scalar(DType::kF64, sum[2].raw()), 1);
  const auto largest = interpret(*add_gradients(*reduce_with_initial_value("maximum"), 0, sources), inputs,
                                 RunContext::current());
  EXPECT_EQ(load_scalar(DType::kF64, largest[2].raw()), 1);
  EXPECT_EQ(largest[1].expanded().view().as<double>()[2], 0);
}

// d2 (product of all) / dx_i dx_j is the product of the others, zeros or not.
TEST(Reduce, ProductsHaveSecondDerivativesAtZeros) {
  for (const std::vector<double>& x :
       {std::vector<double>{2, 0, 5, 0}, {0, 0, 0, 3}, {2, 0, 5, 7}, {2, 3, 5, 7}}) {
    std::vector<double> expected;
    for (size_t i = 0; i < 4; ++i) {
      for (size_t j = 0; j < 4; ++j) {
        double product = i == j ? 0 : 1;
        for (size_t k = 0; k < 4; ++k) product *= k == i || k == j ? 1 : x[k];
        expected.push_back(product);
      }
    }
    const auto f = [](const Tensor& v) { return reduce_prod(reshape(v, {2, 2}), {0, 1}); };
    EXPECT_EQ(hessian(f)(Tensor::of<double>(x, {4}))[0].to_vector<double>(), expected);
  }
}

}  // namespace
}  // namespace espalier
