#include "ops/op_test.h"

namespace espalier {
namespace {

using F1 = double (*)(double);

std::vector<OpCase> cases(Tensor (*f)(Operand), F1 oracle, const ElementwiseOptions& options = {}) {
  return elementwise_cases<1>([f](Inputs x) { return f(x[0]); }, elementwise(oracle), options);
}

const char* const kFlat = "piecewise constant";

OP_TEST(abs) {
  return {cases(abs, [](double x) { return std::abs(x); }, {.kinks = {0}, .dtypes = kFloats | kSigned})};
}
OP_TEST(cbrt) {
  return {cases(cbrt, [](double x) { return std::cbrt(x); }, {.kinks = {0}})};
}
OP_TEST(ceil) {
  return {cases(ceil, [](double x) { return std::ceil(x); }, {.no_gradient = kFlat})};
}
OP_TEST(cosine) {
  return {cases(cosine, [](double x) { return std::cos(x); }, {.low = -9, .high = 9})};
}
OP_TEST(floor) {
  return {cases(floor, [](double x) { return std::floor(x); }, {.no_gradient = kFlat})};
}
OP_TEST(log_plus_one) {
  return {cases(log_plus_one, [](double x) { return std::log1p(x); }, {.low = -0.9, .high = 9})};
}
OP_TEST(logistic) {
  return {cases(logistic, [](double x) { return 1 / (1 + std::exp(-x)); },
                {.low = -6, .high = 6, .tolerance = {.ulp = 2}})};
}
OP_TEST(round_nearest_afz) {
  return {cases(round_nearest_afz, [](double x) { return std::round(x); }, {.no_gradient = kFlat})};
}
OP_TEST(round_nearest_even) {
  return {cases(round_nearest_even, [](double x) { return std::nearbyint(x); }, {.no_gradient = kFlat})};
}
OP_TEST(rsqrt) {
  return {cases(rsqrt, [](double x) { return 1 / std::sqrt(x); },
                {.low = 0.1, .high = 9, .tolerance = {.ulp = 1.5}})};
}
OP_TEST(sign) {
  return {cases(sign, [](double x) { return double(x > 0) - double(x < 0); },
                {.dtypes = kFloats | kSigned, .no_gradient = kFlat})};
}
OP_TEST(sine) {
  return {cases(sine, [](double x) { return std::sin(x); }, {.low = -9, .high = 9})};
}
OP_TEST(tan) {
  return {cases(tan, [](double x) { return std::tan(x); }, {.low = -1.3, .high = 1.3})};
}
OP_TEST(tanh) {
  return {cases(tanh, [](double x) { return std::tanh(x); })};
}

// What is not finite: NanAndInfinity below.
OP_TEST(is_finite) {
  return {elementwise_cases<1>([](Inputs x) { return is_finite(x[0]); },
                               elementwise([](double) { return 1.0; }, DType::kBool),
                               {.no_gradient = "bool"})};
}
OP_TEST(reduce_precision) {
  return {elementwise_cases<1>([](Inputs x) { return reduce_precision(x[0], 5, 3); },
                               elementwise([](double x) {
                                 int exponent = 0;
                                 const double mantissa = std::frexp(x, &exponent);
                                 return std::ldexp(std::nearbyint(std::ldexp(mantissa, 4)), exponent - 4);
                               }),
                               {.low = 0.001, .high = 9, .no_gradient = "steps"})};
}

double infinity() { return std::numeric_limits<double>::infinity(); }

TEST(ElementwiseUnary, Zeros) {
  const Tensor zeros = Tensor::of<double>({0.0, -0.0});
  const auto signs = [&](const Tensor& t) {
    const auto v = t.to_vector<double>();
    return std::vector<bool>{std::signbit(v[0]), std::signbit(v[1])};
  };
  const std::vector<bool> kept{false, true};
  for (Tensor (*f)(Operand) : {sign, ceil, floor, round_nearest_even, round_nearest_afz, sine, tan, tanh,
                               cbrt, log_plus_one, exponential_minus_one, sqrt})
    EXPECT_EQ(signs(f(zeros)), kept);
  EXPECT_EQ(signs(abs(zeros)), (std::vector<bool>{false, false}));
  const Tensor single = Tensor::of<float>({0.0f, -0.0f});
  EXPECT_EQ(signs(convert(tanh(single), DType::kF64)), kept);
  EXPECT_EQ(signs(convert(tanh(convert(single, DType::kBF16)), DType::kF64)), kept);
  EXPECT_EQ(rsqrt(zeros).to_vector<double>(), (std::vector<double>{infinity(), -infinity()}));
}

TEST(ElementwiseUnary, NanAndInfinity) {
  const Tensor x = Tensor::of<float>({NAN, INFINITY, -INFINITY, 3e38f});
  EXPECT_EQ(is_finite(x).to_vector<bool>(), (std::vector<bool>{false, false, false, true}));
  EXPECT_TRUE(std::isnan(sign(x).to_vector<float>()[0]));
  EXPECT_EQ(logistic(x).to_vector<float>()[1], 1);
  EXPECT_EQ(logistic(x).to_vector<float>()[2], 0);
  for (Tensor (*f)(Operand) : {log, sqrt, rsqrt, log_plus_one, sine, cosine, tan})
    EXPECT_TRUE(std::isnan(f(x).to_vector<float>()[2]));
}

TEST(ElementwiseUnary, SmallestIntegerWraps) {
  const int8_t low8 = -128;
  const int64_t low64 = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(abs(Tensor::scalar(low8)).item<int8_t>(), low8);
  EXPECT_EQ(abs(Tensor::scalar(low64)).item<int64_t>(), low64);
  EXPECT_EQ(negate(Tensor::scalar(low8)).item<int8_t>(), low8);
  EXPECT_EQ(negate(Tensor::scalar(uint8_t{1})).item<uint8_t>(), 255);
}

TEST(ElementwiseUnary, HalvesRound) {
  const Tensor x = Tensor::of<float>({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f});
  EXPECT_EQ(round_nearest_even(x).to_vector<float>(), (std::vector<float>{-2, -2, -0.f, 0, 2, 2}));
  EXPECT_EQ(round_nearest_afz(x).to_vector<float>(), (std::vector<float>{-3, -2, -1, 1, 2, 3}));
}

TEST(ElementwiseUnary, NearZeroIsExact) {
  EXPECT_DOUBLE_EQ(log_plus_one(Tensor::scalar(1e-300)).item<double>(), 1e-300);
  EXPECT_DOUBLE_EQ(exponential_minus_one(Tensor::scalar(-1e-300)).item<double>(), -1e-300);
}

TEST(ReducePrecision, RangeAndTies) {
  const auto reduced = [](float x, int64_t exponent, int64_t mantissa) {
    return reduce_precision(Tensor::scalar(x), exponent, mantissa).item<float>();
  };
  EXPECT_EQ(reduced(65519.0f, 5, 10), 65504.0f);
  EXPECT_EQ(reduced(65520.0f, 5, 10), INFINITY);
  EXPECT_EQ(reduced(-65520.0f, 5, 10), -INFINITY);
  EXPECT_EQ(reduced(0x1p-14f, 5, 10), 0x1p-14f);
  EXPECT_EQ(reduced(0x1.8p-15f, 5, 10), 0.0f);
  EXPECT_TRUE(std::signbit(reduced(-0x1p-15f, 5, 10)));
  EXPECT_EQ(reduced(1.5f, 8, 0), 2.0f);
  EXPECT_EQ(reduced(2.5f, 8, 1), 2.0f);
  EXPECT_EQ(reduced(3.5f, 8, 1), 4.0f);
  EXPECT_EQ(reduced(0x1p-149f, 8, 23), 0x1p-149f);
  EXPECT_EQ(reduced(3.4e38f, 8, 3), INFINITY);
  EXPECT_EQ(reduced(1.23456789f, 11, 52), 1.23456789f);
  EXPECT_TRUE(std::isnan(reduced(NAN, 2, 0)));
  EXPECT_EQ(reduced(INFINITY, 3, 2), INFINITY);
}

// bf16 keeps f32's exponent, so rounding to e8m7 must equal the conversion for every pattern of f32's upper
// bits.
TEST(ReducePrecision, EqualsConversionToBfloat16) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const float x = std::bit_cast<float>(i << 16 | 0x8000u | (i & 1));
    if (std::isnan(x)) continue;
    const Tensor t = Tensor::scalar(x);
    const float narrow = reduce_precision(t, 8, 7).item<float>();
    ASSERT_EQ(std::bit_cast<uint32_t>(narrow),
              std::bit_cast<uint32_t>(static_cast<float>(convert(t, DType::kBF16).item<BFloat16>())));
  }
}

}  // namespace
}  // namespace espalier
