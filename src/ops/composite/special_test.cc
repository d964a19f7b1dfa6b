#include "ops/call.h"
#include "ops/op_test.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using F1 = double (*)(double);

std::vector<OpCase> cases(Tensor (*f)(Operand), F1 oracle, const ElementwiseOptions& options = {}) {
  return elementwise_cases<1>([f](Inputs x) { return f(x[0]); }, elementwise(oracle), options);
}

OP_TEST(acos) {
  return {cases(acos, [](double x) { return std::acos(x); }, {.low = -0.9, .high = 0.9})};
}
OP_TEST(acosh) {
  return {cases(acosh, [](double x) { return std::acosh(x); }, {.low = 1.1, .high = 9})};
}
OP_TEST(asin) {
  return {cases(asin, [](double x) { return std::asin(x); }, {.low = -0.9, .high = 0.9})};
}
OP_TEST(one_minus_square) {
  return {elementwise_cases<1>([](Inputs x) { return unary(op_one_minus_square, x[0]); },
                               elementwise([](double x) { return (1 - x) * (1 + x); }),
                               {.tolerance = {.ulp = 2}})};
}
OP_TEST(log_add_exp) {
  return {elementwise_cases<2>(
      [](Inputs x) { return binary(op_log_add_exp, x[0], x[1]); },
      elementwise([](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }),
      {.tolerance = {.ulp = 4, .absolute = 2}})};
}
OP_TEST(asinh) {
  return {cases(asinh, [](double x) { return std::asinh(x); }, {.kinks = {0}})};
}
OP_TEST(atan) {
  return {cases(atan, [](double x) { return std::atan(x); })};
}
OP_TEST(atanh) {
  return {cases(atanh, [](double x) { return std::atanh(x); }, {.low = -0.9, .high = 0.9})};
}
OP_TEST(cosh) {
  return {cases(cosh, [](double x) { return std::cosh(x); }, {.kinks = {0}})};
}
OP_TEST(sinh) {
  return {cases(sinh, [](double x) { return std::sinh(x); }, {.kinks = {0}})};
}
OP_TEST(square) {
  return {cases(square, [](double x) { return x * x; })};
}
OP_TEST(erf) {
  return {cases(erf, [](double x) { return std::erf(x); }, {.kinks = {0}})};
}
OP_TEST(erfc) {
  return {cases(erfc, [](double x) { return std::erfc(x); }, {.kinks = {0}})};
}
OP_TEST(lgamma) {
  return {cases(lgamma, [](double x) { return std::lgamma(x); }, {.low = 0.2, .high = 9})};
}

// Bisection on the complementary function, which keeps the digits of 1 - |x|.
double inverse_erf(double x) {
  double low = 0, high = 7;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle) > 1 - std::abs(x) ? low : high) = middle;
  }
  return std::copysign(low, x);
}
OP_TEST(erf_inv) {
  return {cases(erf_inv, inverse_erf, {.low = -0.95, .high = 0.95, .tolerance = {.ulp = 16}})};
}
OP_TEST(bessel_i1e) {
  const auto oracle = [](double x) {
    return std::exp(-std::abs(x)) * std::copysign(std::cyl_bessel_i(1.0, std::abs(x)), x);
  };
  return {cases(bessel_i1e, oracle,
                {.low = -12, .high = 12, .kinks = {0}, .tolerance = {.ulp = 24, .absolute = 2}})};
}

// By the recurrence to x >= 20, then the asymptotic series.
double psi(double x) {
  double sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  const double u = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         u * (1.0 / 12 - u * (1.0 / 120 - u * (1.0 / 252 - u * (1.0 / 240 - u / 132))));
}
OP_TEST(digamma) {
  return {cases(digamma, psi, {.low = 0.2, .high = 9, .tolerance = {.ulp = 8, .absolute = 8}})};
}

// 3,000 terms and the first corrections of Euler and Maclaurin.
double hurwitz(double s, double q) {
  double sum = 0;
  const int terms = 3000;
  for (int k = terms; k-- > 0;) sum += std::pow(q + k, -s);
  const double a = q + terms;
  return sum + std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) * (0.5 + s / a / 12);
}
std::vector<OpCase> pairs(Tensor (*f)(Operand, Operand), double (*oracle)(double, double), In a, In b,
                          Tolerance tolerance) {
  std::vector<OpCase> out = elementwise_cases<2>([f](Inputs x) { return f(x[0], x[1]); }, elementwise(oracle),
                                                 {.tolerance = tolerance});
  for (OpCase& c : out) {
    a.shape = c.inputs[0].shape;
    b.shape = c.inputs[1].shape;
    c.inputs = {a, b};
  }
  return out;
}
OP_TEST(zeta) {
  return {pairs(zeta, hurwitz, {.shape = {}, .low = 1.5, .high = 6}, {.shape = {}, .low = 0.5, .high = 5},
                {.ulp = 60})};
}
OP_TEST(polygamma) {
  const auto second = [](double n, double x) { return (n == 2 ? -2 : 6) * hurwitz(n + 1, x); };
  std::vector<OpCase> all;
  for (const double n : {2.0, 3.0}) {
    for (OpCase& c : pairs(polygamma, second, {.shape = {}, .low = n, .high = n, .differentiable = false},
                           {.shape = {}, .low = 0.5, .high = 5}, {.ulp = 60})) {
      c.name += cat(" order ", n);
      all.push_back(c);
    }
  }
  return {all};
}

OP_TEST(next_after) {
  OpTest test;
  const auto oracle = [](Arrays x) {
    const DType dtype = x[0].type.dtype;
    const int digits = dtype == DType::kF64 ? 53 : dtype == DType::kF32 ? 24 : dtype == DType::kF16 ? 11 : 8;
    return elementwise([digits](double a, double b) {
      int exponent = 0;
      const double mantissa = std::frexp(a, &exponent);
      // Below a power of two the grid is twice as fine.
      const bool finer = std::abs(mantissa) == 0.5 && (a > 0) == (b < a);
      return a == b ? b : a + std::copysign(std::ldexp(finer ? 0.5 : 1.0, exponent - digits), b - a);
    })(x)[0];
  };
  return {elementwise_cases<2>([](Inputs x) { return next_after(x[0], x[1]); }, oracle,
                               {.kinks = {0}, .tolerance = {.ulp = 0}, .no_gradient = "a step"})};
}
OP_TEST(mulhi) {
  return {elementwise_cases<2>([](Inputs x) { return mulhi(x[0], x[1]); },
                               elementwise([](double a, double b) { return a * b < 0 ? -1.0 : 0.0; }),
                               {.dtypes = kIntegers})};
}

Tensor decomposed(const OpDef& op, const std::vector<Tensor>& inputs) {
  return op.decompose({nullptr, inputs, {}})[0];
}

TEST(NextAfter, Edges) {
  const float tiny = std::numeric_limits<float>::denorm_min(), inf = INFINITY,
              top = std::numeric_limits<float>::max();
  const Tensor a = Tensor::of<float>({0, -0.f, 0, tiny, -tiny, top, inf, 1, -1, 0}),
               b = Tensor::of<float>({1, -1, -0.f, -1, 1, inf, 0, 1, -2, -inf});
  const std::vector<float> expected{tiny, -tiny, -0.f, 0, -0.f, inf, top, 1, std::nextafter(-1.f, -2.f),
                                    -tiny};
  for (const Tensor& found : {next_after(a, b), decomposed(op_next_after, {a, b})}) {
    const auto v = found.to_vector<float>();
    for (size_t i = 0; i < v.size(); ++i)
      EXPECT_EQ(std::bit_cast<uint32_t>(v[i]), std::bit_cast<uint32_t>(expected[i])) << i;
  }
  EXPECT_TRUE(std::isnan(next_after(Tensor::scalar(NAN), Tensor::scalar(1.f)).item<float>()));
  EXPECT_TRUE(
      std::isnan(decomposed(op_next_after, {Tensor::scalar(1.f), Tensor::scalar(NAN)}).item<float>()));
}

TEST(Mulhi, WideProducts) {
  const Tensor u = Tensor::of<uint64_t>({~uint64_t{0}, uint64_t{1} << 63, 0x123456789abcdef0u}),
               v = Tensor::of<uint64_t>({~uint64_t{0}, 6, 0xfedcba9876543210u});
  const std::vector<uint64_t> unsigned_expected{~uint64_t{0} - 1, 3, 0x121fa00ad77d7422u};
  const int64_t low = std::numeric_limits<int64_t>::min();
  const Tensor s = Tensor::of<int64_t>({low, low, -1, -1, 1234567890123456789}),
               t = Tensor::of<int64_t>({low, 1, 1, -1, -987654321098765432});
  const std::vector<int64_t> signed_expected{int64_t{1} << 62, -1, -1, 0, -66099811787816347};
  EXPECT_EQ(mulhi(u, v).to_vector<uint64_t>(), unsigned_expected);
  EXPECT_EQ(decomposed(op_mulhi, {u, v}).to_vector<uint64_t>(), unsigned_expected);
  EXPECT_EQ(mulhi(s, t).to_vector<int64_t>(), signed_expected);
  EXPECT_EQ(decomposed(op_mulhi, {s, t}).to_vector<int64_t>(), signed_expected);
  const Tensor a = Tensor::of<int8_t>({-128, -128, 127, -1}), b = Tensor::of<int8_t>({-128, 127, 127, 1});
  EXPECT_EQ(mulhi(a, b).to_vector<int8_t>(), (std::vector<int8_t>{64, -64, 63, -1}));
  EXPECT_EQ(decomposed(op_mulhi, {a, b}).to_vector<int8_t>(), (std::vector<int8_t>{64, -64, 63, -1}));
}

}  // namespace
}  // namespace espalier
