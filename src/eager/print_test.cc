#include "espalier/print.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "ir/builder.h"

namespace espalier {
namespace {

TEST(Print, ScalarsStandOnOneLine) {
  EXPECT_EQ(to_string(Tensor::scalar(3.5f)), "f32[] 3.5");
  EXPECT_EQ(to_string(Tensor::scalar(int64_t{-7})), "i64[] -7");
  EXPECT_EQ(to_string(Tensor::scalar(true)), "bool[] true");
  EXPECT_EQ(to_string(Tensor::scalar(2.0)), "f64[] 2.0");
}

TEST(Print, ColumnsAlignAndShareDigits) {
  EXPECT_EQ(to_string(Tensor::of<float>({1, -2.5f, 3, 40, 0.25f, 1}, {2, 3})),
            "f32[2,3]\n"
            "[[ 1.00, -2.50,  3.00],\n"
            " [40.00,  0.25,  1.00]]");
  EXPECT_EQ(to_string(Tensor::of<float>({1.0f / 3, 2})), "f32[2]\n[0.3333, 2.0000]");
  EXPECT_EQ(to_string(Tensor::of<float>({0.1f, 2.5f})), "f32[2]\n[0.1, 2.5]");
  EXPECT_EQ(to_string(Tensor::of<int32_t>({1, -20, 300})), "i32[3]\n[  1, -20, 300]");
  EXPECT_EQ(to_string(Tensor::of<uint8_t>({200, 3})), "u8[2]\n[200,   3]");
  EXPECT_EQ(to_string(Tensor::of<bool>({true, false})), "bool[2]\n[ true, false]");
}

TEST(Print, LargeAndSmallNumbersAreScientific) {
  EXPECT_EQ(to_string(Tensor::of<float>({1e-5f, -2})), "f32[2]\n[ 1.0000e-05, -2.0000e+00]");
  EXPECT_EQ(to_string(Tensor::of<double>({1.5e300, 0})), "f64[2]\n[1.5000e+300,  0.0000e+00]");
}

TEST(Print, SpecialValuesAndHalves) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_string(Tensor::of<float>({inf, -inf, std::nanf(""), 1})), "f32[4]\n[ inf, -inf,  nan,  1.0]");
  EXPECT_EQ(to_string(convert(Tensor::of<float>({1.5f, -0.0f}), DType::kBF16)), "bf16[2]\n[ 1.5, -0.0]");
}

TEST(Print, BlocksAreSetApart) {
  EXPECT_EQ(to_string(Tensor::of<int32_t>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})),
            "i32[2,2,2]\n"
            "[[[1, 2],\n"
            "  [3, 4]],\n"
            "\n"
            " [[5, 6],\n"
            "  [7, 8]]]");
}

TEST(Print, EmptyAxes) {
  EXPECT_EQ(to_string(full({0, 3}, 1)), "f32[0,3]\n[]");
  EXPECT_EQ(to_string(full({2, 0}, 1)), "f32[2,0]\n[[],\n []]");
}

TEST(Print, ManyElementsAreSummarised) {
  EXPECT_EQ(to_string(iota({DType::kI32, {1001}}, 0)),
            "i32[1001]\n[   0,    1,    2, ...,  998,  999, 1000]");
  EXPECT_EQ(to_string(iota({DType::kI32, {300, 5}}, 0)),
            "i32[300,5]\n"
            "[[  0,   0,   0,   0,   0],\n"
            " [  1,   1,   1,   1,   1],\n"
            " [  2,   2,   2,   2,   2],\n"
            " ...,\n"
            " [297, 297, 297, 297, 297],\n"
            " [298, 298, 298, 298, 298],\n"
            " [299, 299, 299, 299, 299]]");
}

TEST(Print, LongRowsWrap) {
  EXPECT_EQ(to_string(iota({DType::kI32, {1, 30}}, 1)),
            "i32[1,30]\n"
            "[[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18,\n"
            "  19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]]");
}

TEST(Print, ABlockOfFourAxesIsSetApartByTwoLines) {
  EXPECT_EQ(to_string(iota({DType::kI32, {2, 1, 2, 1}}, 0)),
            "i32[2,1,2,1]\n"
            "[[[[0],\n"
            "   [0]]],\n"
            "\n"
            "\n"
            " [[[1],\n"
            "   [1]]]]");
}

TEST(Print, DigitsAreThoseThatAreNeeded) {
  for (const auto& [value, text] : {std::pair{99999999.0, "99999999.0"},
                                    {1e8, "1.0000e+08"},
                                    {1e-4, "0.0001"},
                                    {9.9e-5, "9.9000e-05"},
                                    {-1e8, "-1.0000e+08"},
                                    {-9.9e-5, "-9.9000e-05"},
                                    {0.0, "0.0"},
                                    {1.25, "1.25"},
                                    {100.0, "100.0"},
                                    {0.00004, "4.0000e-05"},
                                    {0.12345, "0.1235"}})
    EXPECT_EQ(to_string(Tensor::scalar(value)), std::string("f64[] ") + text);
}

TEST(Print, AThousandElementsAreShownAndEdgesBeyond) {
  const auto lines = [](const Shape& shape) {
    const std::string text = to_string(iota({DType::kI32, shape}, 0));
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(lines({1000, 1}), 1000) << "all of them, below the type";
  EXPECT_EQ(lines({1001, 1}), 7) << "three, dots, and three";
  EXPECT_EQ(lines({6, 200}), 6) << "an axis of six is shown whole";
  EXPECT_EQ(lines({7, 200}), 7);
  EXPECT_EQ(to_string(iota({DType::kI32, {2, 501}}, 1)),
            "i32[2,501]\n"
            "[[  0,   1,   2, ..., 498, 499, 500],\n"
            " [  0,   1,   2, ..., 498, 499, 500]]");
}

// "[", 16 numbers of 3, ", " between them and "]" are 80 columns.
TEST(Print, ALineHasEightyColumns) {
  const auto lines = [](int64_t count) {
    const std::string text = to_string(full({count}, 100, DType::kI32));
    return std::ranges::count(text, '\n');  // the type stands above
  };
  EXPECT_EQ(lines(16), 1);
  EXPECT_EQ(lines(17), 2);
}

TEST(Print, SymbolicAndUndefinedTensorsHaveNoData) {
  GraphBuilder builder;
  EXPECT_EQ(to_string(builder.argument("x", {DType::kF32, {2, 3}})), "f32[2,3] (symbolic)");
  EXPECT_EQ(to_string(Tensor()), "undefined tensor");
  std::ostringstream out;
  out << Tensor::scalar(int32_t{4});
  EXPECT_EQ(out.str(), "i32[] 4");
  out << ", " << full({2, 3}, 1).type();
  EXPECT_EQ(out.str(), "i32[] 4, f32[2,3]");
}

}  // namespace
}  // namespace espalier
