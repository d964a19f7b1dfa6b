#include "grad/grad.h"
#include "ops/op_test.h"

namespace espalier {
namespace {

OP_TEST(not ) {
  std::vector<OpCase> bits = elementwise_cases<1>(
      [](Inputs x) { return bitwise_not(x[0]); },
      [](Arrays x) {
        return x[0].type.dtype == DType::kBool ? elementwise([](double v) { return 1 - v; })(x)
                                               : elementwise([](double v) { return -1 - v; })(x);
      },
      {.dtypes = kIntegers | kBools});
  return {bits};
}

OP_TEST(popcnt) {
  std::vector<OpCase> cases = elementwise_cases<1>(
      [](Inputs x) { return popcnt(x[0]); },
      elementwise([](double v) { return double(std::popcount(static_cast<unsigned>(v))); }),
      {.int_low = 0, .int_high = 127, .dtypes = kIntegers});
  return {cases};
}
OP_TEST(count_leading_zeros) {
  std::vector<OpCase> cases =
      elementwise_cases<1>([](Inputs x) { return count_leading_zeros(x[0]); },
                           [](Arrays x) {
                             const double width = static_cast<double>(size_of(x[0].type.dtype)) * 8;
                             return elementwise([width](double v) {
                               return v == 0 ? width : width - 1 - std::floor(std::log2(v));
                             })(x);
                           },
                           {.int_low = 0, .int_high = 127, .dtypes = kIntegers});
  return {cases};
}

OP_TEST(clamp) {
  OpTest test;
  for (const auto& [name, low, shape, high] :
       {std::tuple<const char*, Shape, Shape, Shape>{"scalar bounds", {}, {4, 3}, {}},
        {"full bounds", {4, 3}, {4, 3}, {4, 3}},
        {"one scalar", {}, {4, 3}, {4, 3}},
        {"scalars", {}, {}, {}},
        {"empty", {}, {0, 3}, {}}}) {
    test.cases.push_back(
        {.name = name,
         .inputs = {{.shape = low, .low = -1, .high = -0.9, .int_low = -3, .int_high = -2},
                    {.shape = shape, .kinks = {-1, -0.95, -0.9, 1, 1.05, 1.1}},
                    {.shape = high, .low = 1, .high = 1.1, .int_low = 2, .int_high = 3}},
         .call = [](Inputs x) { return clamp(x[0], x[1], x[2]); },
         .oracle = elementwise([](double l, double x, double h) { return std::min(std::max(x, l), h); }),
         .dtypes = kAnyDType});
  }
  return test;
}

OP_TEST(optimization_barrier) {
  const auto same = [](Arrays x) { return std::vector<Array>(x.begin(), x.end()); };
  const auto call = [](Inputs x) { return optimization_barrier({x.begin(), x.end()}); };
  return {
      {{.name = "two",
        .inputs = {{.shape = {2, 3}}, {.shape = {}}},
        .call = call,
        .oracle = same,
        .dtypes = kAnyDType},
       {.name = "empty", .inputs = {{.shape = {0, 2}}}, .call = call, .oracle = same, .dtypes = kAnyDType}}};
}

OP_TEST(bitcast_convert) {
  const auto bits = [](DType to, auto scale) {
    return [to, scale](Arrays x) {
      Array out{{to, x[0].type.shape}, {}};
      for (const double v : x[0].values) out.values.push_back(scale(v));
      return out;
    };
  };
  const auto call = [](DType to) { return [to](Inputs x) { return bitcast_convert(x[0], to); }; };
  const auto as_u32 = [](double v) { return double(std::bit_cast<uint32_t>(static_cast<float>(v))); };
  const auto as_f32 = [](double v) { return double(std::bit_cast<float>(static_cast<int32_t>(v))); };
  OpTest test;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}}) {
    test.cases.push_back({.name = "f32 to u32",
                          .inputs = {{.shape = shape, .dtype = DType::kF32}},
                          .call = call(DType::kU32),
                          .oracle = bits(DType::kU32, as_u32),
                          .dtypes = kAnyDType,
                          .no_gradient = "bits"});
  }
  test.cases.push_back(
      {.name = "i32 to f32",
       .inputs = {{.shape = {5}, .int_low = 1 << 24, .int_high = 1 << 30, .dtype = DType::kI32}},
       .call = call(DType::kF32),
       .oracle = bits(DType::kF32, as_f32),
       .dtypes = kAnyDType,
       .no_gradient = "bits"});
  return test;
}

TEST(Bitcast, BetweenWidths) {
  const Tensor wide = Tensor::of<uint32_t>({0x01020304u, 0x05060708u});
  const Tensor narrow = bitcast_convert(wide, DType::kU8);
  EXPECT_EQ(narrow.shape(), (Shape{2, 4}));
  EXPECT_EQ(narrow.to_vector<uint8_t>(), (std::vector<uint8_t>{4, 3, 2, 1, 8, 7, 6, 5}));
  const Tensor back = bitcast_convert(narrow, DType::kI32);
  EXPECT_EQ(back.shape(), (Shape{2}));
  EXPECT_EQ(back.to_vector<int32_t>(), (std::vector<int32_t>{0x01020304, 0x05060708}));
  EXPECT_EQ(bitcast_convert(Tensor::scalar(1.0), DType::kU32).to_vector<uint32_t>(),
            (std::vector<uint32_t>{0, 0x3ff00000u}));
  EXPECT_THROW(bitcast_convert(Tensor::of<uint16_t>({1, 2, 3}), DType::kU32), ShapeError);
  EXPECT_THROW(bitcast_convert(Tensor::scalar(uint16_t{1}), DType::kU32), ShapeError);
  EXPECT_THROW(bitcast_convert(Tensor::scalar(true), DType::kU8), DTypeError);
}

TEST(Compare, NanAndTotalOrder) {
  const Tensor order = Tensor::of<float>({-NAN, -INFINITY, -1, -0.f, 0.f, 1, INFINITY, NAN});
  const auto values = order.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; k < values.size(); ++k) {
      const Tensor a = Tensor::scalar(values[i]), b = Tensor::scalar(values[k]);
      EXPECT_EQ(compare_total_order(a, b, Comparison::kLT).item<bool>(), i < k);
      EXPECT_EQ(compare_total_order(a, b, Comparison::kEQ).item<bool>(), i == k);
      const BFloat16 x(values[i]), y(values[k]);
      EXPECT_EQ(compare_total_order(Tensor::scalar(x), Tensor::scalar(y), Comparison::kGE).item<bool>(),
                i >= k);
      EXPECT_EQ(compare(a, b, Comparison::kNE).item<bool>(), values[i] != values[k]);
    }
  }
  EXPECT_THROW(compare_total_order(Tensor::scalar(1), Tensor::scalar(1), Comparison::kEQ), DTypeError);
}

TEST(Compare, SixtyFourBitsAreExact) {
  const Tensor a = Tensor::scalar((int64_t{1} << 60) + 1), b = Tensor::scalar(int64_t{1} << 60);
  EXPECT_TRUE(compare(a, b, Comparison::kGT).item<bool>());
  EXPECT_FALSE(compare(a, b, Comparison::kEQ).item<bool>());
  EXPECT_TRUE(
      compare(Tensor::scalar(~uint64_t{0}), Tensor::scalar(uint64_t{1}), Comparison::kGT).item<bool>());
}

TEST(Clamp, NanWinsAndTheUpperBoundWins) {
  EXPECT_TRUE(std::isnan(clamp(0.0, Tensor::scalar(NAN), 1.0).item<float>()));
  EXPECT_TRUE(std::isnan(clamp(Tensor::scalar(NAN), Tensor::scalar(1.0f), 2.0).item<float>()));
  EXPECT_EQ(clamp(3, Tensor::scalar(0.5f), 1).item<float>(), 1);
}

TEST(Convert, GradientComesBackInTheSourceType) {
  const Tensor x = Tensor::of<float>({1, 2}), y = convert(x, DType::kBF16),
               g = convert(Tensor::of<float>({0.3f, 4}), DType::kBF16);
  const TapeEntry call{&op_convert, nullptr, {x}, {y}, {}};
  const std::vector<Tensor> found = reverse({&call, 1}, {&y, 1}, {&g, 1}, {&x, 1});
  EXPECT_EQ(found[0].to_vector<float>(), convert(g, DType::kF32).to_vector<float>());
}

TEST(Convert, SaturatesAndTruncates) {
  const Tensor x = Tensor::of<double>({1e20, -1e20, NAN, -2.9, 300, -1});
  EXPECT_EQ(convert(x, DType::kI8).to_vector<int8_t>(), (std::vector<int8_t>{127, -128, 0, -2, 127, -1}));
  EXPECT_EQ(convert(x, DType::kU8).to_vector<uint8_t>(), (std::vector<uint8_t>{255, 0, 0, 0, 255, 0}));
  EXPECT_EQ(convert(x, DType::kI64).to_vector<int64_t>()[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(convert(x, DType::kU64).to_vector<uint64_t>()[0], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(convert(x, DType::kBool).to_vector<bool>(),
            (std::vector<bool>{true, true, true, true, true, true}));
  EXPECT_EQ(convert(Tensor::scalar(int32_t{-1}), DType::kU8).item<uint8_t>(), 255);
  EXPECT_EQ(convert(Tensor::scalar(int32_t{511}), DType::kI8).item<int8_t>(), -1);
}

// 2^12 + 1 ties between two bf16 values unless the bits below are seen.
TEST(Convert, RoundsOnce) {
  const int64_t just_above_tie = (int64_t{0x101} << 54) + 1, tie = int64_t{0x101} << 54;
  EXPECT_EQ(static_cast<float>(convert(Tensor::scalar(just_above_tie), DType::kBF16).item<BFloat16>()),
            0x1.02p62f);
  EXPECT_EQ(static_cast<float>(convert(Tensor::scalar(tie), DType::kBF16).item<BFloat16>()), 0x1p62f);
  EXPECT_EQ(
      static_cast<float>(convert(Tensor::scalar(1.0 + 0x1p-8 + 0x1p-40), DType::kBF16).item<BFloat16>()),
      0x1.02p0f);
}

}  // namespace
}  // namespace espalier
