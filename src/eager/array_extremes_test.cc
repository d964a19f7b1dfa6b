// Arguments at the ends of int64_t, and slopes where a quotient is infinite.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/indexing.h"
#include "espalier/tape.h"
#include "espalier/transforms.h"

namespace espalier {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
using Floats = std::vector<float>;
Floats f32_values(const Tensor& t) { return t.to_vector<float>(); }

// Python's rule for slices, in numbers that nothing overflows.
Floats sliced(int64_t size, const Slice& slice) {
  const bool back = slice.step < 0;
  const __int128 low = back ? -1 : 0, high = back ? size - 1 : size;
  const auto bound = [&](const std::optional<int64_t>& value, __int128 missing) {
    if (!value) return missing;
    const __int128 at = *value < 0 ? static_cast<__int128>(*value) + size : *value;
    return at < low ? low : at > high ? high : at;
  };
  const __int128 start = bound(slice.start, back ? high : low), stop = bound(slice.stop, back ? low : high);
  Floats out;
  for (__int128 i = start; back ? i > stop : i < stop; i += slice.step) out.push_back(static_cast<float>(i));
  return out;
}

TEST(ArrayExtremes, SlicesWithBoundsAndStepsOfAnySize) {
  EXPECT_EQ(f32_values(index(arange(4, DType::kF32), {Slice{{}, {}, kLeast}})), Floats{3});
  std::vector<std::optional<int64_t>> bounds{std::nullopt};
  for (const int64_t bound : {kLeast, kLeast + 1, int64_t{-5}, int64_t{-4}, int64_t{-1}, int64_t{0},
                              int64_t{2}, int64_t{4}, kMost - 1, kMost})
    bounds.emplace_back(bound);
  for (const int64_t size : {0, 1, 4}) {
    const Tensor x = arange(size, DType::kF32);
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (const int64_t step : {kLeast, kLeast + 1, int64_t{-4}, int64_t{-3}, int64_t{-1}, int64_t{1},
                                   int64_t{3}, int64_t{4}, kMost - 1, kMost}) {
          const Slice slice{start, stop, step};
          ASSERT_EQ(f32_values(index(x, {slice})), sliced(size, slice))
              << size << ": " << start.value_or(777) << ", " << stop.value_or(777) << ", " << step;
        }
      }
    }
  }
}

TEST(ArrayExtremes, SlicesOfAnyStepAreAssignedToAndHaveGradients) {
  const Tensor x = arange(3, DType::kF32);
  EXPECT_EQ(f32_values(assign_at(x, {Slice{{}, {}, kLeast}}, 7)), (Floats{0, 1, 7}));
  EXPECT_EQ(f32_values(assign_at(x, {Slice{{}, {}, kMost}}, 7)), (Floats{7, 1, 2}));
  const auto last = [](const Tensor& t) { return sum(index(t, {Slice{{}, {}, kLeast}}) * 5); };
  EXPECT_EQ(f32_values(grad(last)(x)[0]), (Floats{0, 0, 5}));
}

TEST(ArrayExtremes, RollsByAnyNumber) {
  const Tensor x = arange(7, DType::kF32);
  for (const int64_t shift : {kLeast, kLeast + 1, int64_t{-8}, int64_t{0}, int64_t{3}, kMost}) {
    Floats wanted(7);
    for (int64_t i = 0; i < 7; ++i) {
      const __int128 from = (i - static_cast<__int128>(shift)) % 7;
      wanted[static_cast<size_t>(i)] = static_cast<float>(from < 0 ? from + 7 : from);
    }
    EXPECT_EQ(f32_values(roll(x, shift, 0)), wanted) << shift;
  }
}

TEST(ArrayExtremes, DiagonalsFarOutsideHaveNoElements) {
  const Tensor x = ones({2, 3});
  for (const int64_t k : {kLeast, int64_t{-4}, int64_t{-2}, int64_t{3}, kMost}) {
    EXPECT_EQ(f32_values(diag(x, k)), Floats{}) << k;
    EXPECT_EQ(f32_values(eye(2, 3, k)), Floats(6, 0)) << k;
    EXPECT_EQ(f32_values(tril(x, k)), Floats(6, k > 0 ? 1 : 0)) << k;
    EXPECT_EQ(f32_values(triu(x, k)), Floats(6, k > 0 ? 0 : 1)) << k;
  }
}

TEST(ArrayExtremes, FloorDivisionHasNoSlopeAnywhere) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::of<double>({1, -1, 0, 3, 1e300, -7.5, 1}),
               y = Tensor::of<double>({0, 0, 0, -0.0, 1e-300, 2, inf});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const Tensor out = floor_divide(x, y);
  EXPECT_EQ(tape.gradient(out, x).to_vector<double>(), std::vector<double>(7, 0));
  EXPECT_EQ(tape.gradient(out, y).to_vector<double>(), std::vector<double>(7, 0));
  const auto values = out.to_vector<double>();
  EXPECT_EQ(values[0], inf);
  EXPECT_EQ(values[1], -inf);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], -inf);
  EXPECT_EQ(values[5], -4);
}

}  // namespace
}  // namespace espalier
