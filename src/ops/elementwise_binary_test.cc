#include "ops/op_test.h"

namespace espalier {
namespace {

using F2 = double (*)(double, double);

std::vector<OpCase> cases(Tensor (*f)(Operand, Operand), F2 oracle, const ElementwiseOptions& options = {}) {
  return elementwise_cases<2>([f](Inputs x) { return f(x[0], x[1]); }, elementwise(oracle), options);
}
// The same with operands drawn from intervals of their own.
std::vector<OpCase> cases(Tensor (*f)(Operand, Operand), F2 oracle, In a, In b,
                          const ElementwiseOptions& options = {}) {
  std::vector<OpCase> out = cases(f, oracle, options);
  for (OpCase& c : out) {
    a.shape = c.inputs[0].shape;
    b.shape = c.inputs[1].shape;
    c.inputs = {a, b};
  }
  return out;
}

double modulo(double a, double b) { return std::fmod(a, b); }
OP_TEST(remainder) {
  // a / b stays away from whole numbers, where the remainder jumps.
  return {cases(remainder, modulo, {.shape = {}, .low = 2.1, .high = 2.9, .int_low = -9, .int_high = 9},
                {.shape = {}, .low = 0.95, .high = 1.04, .int_low = 1}, {.dtypes = kNumbers})};
}
OP_TEST(power) {
  return {cases(power, [](double a, double b) { return std::pow(a, b); },
                {.shape = {}, .low = 0.3, .high = 2, .int_low = -3, .int_high = 3},
                {.shape = {}, .int_low = 0, .int_high = 3}, {.dtypes = kNumbers})};
}
OP_TEST(atan2) {
  return {cases(atan2, [](double a, double b) { return std::atan2(a, b); }, {.shape = {}, .low = 0.2}, {})};
}
OP_TEST(minimum) {
  return {cases(minimum, [](double a, double b) { return std::min(a, b); }, {.dtypes = kAnyDType})};
}

int64_t whole(double x) { return static_cast<int64_t>(x); }
OP_TEST(and) {
  return {cases(bitwise_and, [](double a, double b) { return double(whole(a) & whole(b)); },
                {.dtypes = kIntegers | kBools})};
}
OP_TEST(or) {
  return {cases(bitwise_or, [](double a, double b) { return double(whole(a) | whole(b)); },
                {.dtypes = kIntegers | kBools})};
}
OP_TEST(xor) {
  return {cases(bitwise_xor, [](double a, double b) { return double(whole(a) ^ whole(b)); },
                {.dtypes = kIntegers | kBools})};
}

double scaled_up(double a, double b) { return a * std::exp2(b); }
double scaled_down(double a, double b) { return std::floor(a * std::exp2(-b)); }
OP_TEST(shift_left) {
  return {
      cases(shift_left, scaled_up, {}, {.shape = {}, .int_low = 0, .int_high = 4}, {.dtypes = kIntegers})};
}
OP_TEST(shift_right_arithmetic) {
  return {cases(shift_right_arithmetic, scaled_down, {}, {.shape = {}, .int_low = 0, .int_high = 4},
                {.dtypes = kIntegers})};
}
OP_TEST(shift_right_logical) {
  return {cases(shift_right_logical, scaled_down, {.shape = {}, .int_low = 0},
                {.shape = {}, .int_low = 0, .int_high = 4}, {.dtypes = kIntegers})};
}

constexpr int8_t kLow = -128;

TEST(IntegerArithmetic, DivisionAtTheEdges) {
  const Tensor a = Tensor::of<int8_t>({7, -7, 7, -7, kLow, 5, kLow}),
               b = Tensor::of<int8_t>({2, 2, -2, -2, -1, 0, 0});
  EXPECT_EQ((a / b).to_vector<int8_t>(), (std::vector<int8_t>{3, -3, -3, 3, kLow, -1, -1}));
  EXPECT_EQ(remainder(a, b).to_vector<int8_t>(), (std::vector<int8_t>{1, -1, 1, -1, 0, 5, kLow}));
  EXPECT_EQ((Tensor::scalar(uint32_t{5}) / Tensor::scalar(uint32_t{0})).item<uint32_t>(), 0xffffffffu);
  const Tensor low64 = Tensor::scalar(std::numeric_limits<int64_t>::min()),
               minus = Tensor::scalar(int64_t{-1});
  EXPECT_EQ((low64 / minus).item<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(remainder(low64, minus).item<int64_t>(), 0);
}

TEST(IntegerArithmetic, Wraps) {
  EXPECT_EQ((Tensor::scalar(int8_t{127}) + Tensor::scalar(int8_t{1})).item<int8_t>(), kLow);
  EXPECT_EQ((Tensor::scalar(kLow) - Tensor::scalar(int8_t{1})).item<int8_t>(), 127);
  EXPECT_EQ((Tensor::scalar(uint16_t{65535}) * Tensor::scalar(uint16_t{65535})).item<uint16_t>(), 1);
  EXPECT_EQ((Tensor::scalar(int64_t{1} << 62) * Tensor::scalar(int64_t{4})).item<int64_t>(), 0);
}

TEST(IntegerArithmetic, Powers) {
  const Tensor base = Tensor::of<int32_t>({0, 0, 1, -1, -1, 2, -3, 2, 2});
  const Tensor exponent = Tensor::of<int32_t>({0, -1, -5, -2, -3, -1, 3, 31, 32});
  EXPECT_EQ(power(base, exponent).to_vector<int32_t>(),
            (std::vector<int32_t>{1, 0, 1, 1, -1, 0, -27, std::numeric_limits<int32_t>::min(), 0}));
}

TEST(Shifts, BeyondTheWidth) {
  const Tensor a = Tensor::of<int8_t>({-3, -3, -3, 5, 5, -3}),
               b = Tensor::of<int8_t>({7, 8, -1, 8, 100, kLow});
  EXPECT_EQ(shift_left(a, b).to_vector<int8_t>(), (std::vector<int8_t>{kLow, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shift_right_logical(a, b).to_vector<int8_t>(), (std::vector<int8_t>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shift_right_arithmetic(a, b).to_vector<int8_t>(), (std::vector<int8_t>{-1, -1, -1, 0, 0, -1}));
  // An unsigned element has a sign bit too, as StableHLO has it.
  EXPECT_EQ(shift_right_arithmetic(Tensor::scalar(uint8_t{0x80}), Tensor::scalar(uint8_t{9})).item<uint8_t>(),
            0xff);
}

TEST(MinimumMaximum, NanWinsAndZerosAreOrdered) {
  const Tensor a = Tensor::of<float>({NAN, 1, -0.f, 0.f}), b = Tensor::of<float>({1, NAN, 0.f, -0.f});
  for (Tensor (*f)(Operand, Operand) : {minimum, maximum}) {
    const auto v = f(a, b).to_vector<float>();
    EXPECT_TRUE(std::isnan(v[0]) && std::isnan(v[1]));
    EXPECT_EQ(std::signbit(v[2]), f == minimum);
    EXPECT_EQ(std::signbit(v[3]), f == minimum);
  }
}

TEST(Power, FloatEdgesFollowC) {
  const Tensor a = Tensor::of<double>({0, -8, NAN, -2, 0}), b = Tensor::of<double>({0, 1.0 / 3, 0, 3, -1});
  const auto v = power(a, b).to_vector<double>();
  EXPECT_EQ(v[0], 1);
  EXPECT_TRUE(std::isnan(v[1]));
  EXPECT_EQ(v[2], 1);
  EXPECT_EQ(v[3], -8);
  EXPECT_EQ(v[4], std::numeric_limits<double>::infinity());
}

TEST(Remainder, SignFollowsTheDividend) {
  const Tensor a = Tensor::of<double>({5.5, -5.5, 5.5, 1}), b = Tensor::of<double>({2, 2, -2, 0});
  const auto v = remainder(a, b).to_vector<double>();
  EXPECT_EQ((std::vector<double>{v[0], v[1], v[2]}), (std::vector<double>{1.5, -1.5, 1.5}));
  EXPECT_TRUE(std::isnan(v[3]));
}

}  // namespace
}  // namespace espalier
