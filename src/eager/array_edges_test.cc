// Tensor functions at the edges of what they take, against what NumPy gives or numbers worked out by hand;
// and the sentences of what they refuse.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error_said_test.h"
#include "base/format.h"
#include "espalier/array.h"
#include "espalier/indexing.h"

namespace espalier {
namespace {

using Numbers = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor counted_up(const Shape& shape) { return reshape(arange(num_elements(shape), DType::kF32), shape); }

struct Case {
  const char* name;
  Tensor got;
  Shape shape;
  Numbers values;
};
void expect_each(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(c.got.shape(), c.shape) << c.name;
    EXPECT_EQ(convert(c.got, DType::kF32).to_vector<float>(), c.values) << c.name;
  }
}

TEST(ArrayEdges, EinsumOfDotsOfDifferentRanks) {
  const Tensor cube = counted_up({2, 2, 2}), square = counted_up({2, 2}), pair = counted_up({2}) + 1;
  expect_each({
      {"the last has fewer", einsum("...i,...i", {cube, square}), {2, 2}, {1, 13, 5, 33}},
      {"the first has fewer", einsum("...i,...i", {square, cube}), {2, 2}, {1, 13, 5, 33}},
      {"the last has none", einsum("...i,i", {cube, pair}), {2, 2}, {2, 8, 14, 20}},
      {"of no axes", einsum("...i,...i", {cube, pair}), {2, 2}, {2, 8, 14, 20}},
      {"behind letters", einsum("i...,i->...", {cube, pair}), {2, 2}, {8, 11, 14, 17}},
      {"between letters", einsum("i...j->j...i", {cube}), {2, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7}},
      {"named in the result",
       einsum("...i,...i->i...", {cube, square}),
       {2, 2, 2},
       {0, 4, 0, 12, 1, 9, 5, 21}},
      {"broadcast", einsum("...,...->...", {ones({2, 1}), counted_up({3})}), {2, 3}, {0, 1, 2, 0, 1, 2}},
  });
}

TEST(ArrayEdges, EinsumOfOneAndOfManyOperands) {
  const Tensor cube = counted_up({2, 2, 2}), square = counted_up({2, 2}), pair = counted_up({2}) + 1;
  expect_each({
      {"a diagonal of three", einsum("iii->i", {cube}), {2}, {0, 7}},
      {"a trace of three", einsum("iii", {cube}), {}, {7}},
      {"a diagonal beside an axis", einsum("iji->ij", {cube}), {2, 2}, {0, 2, 5, 7}},
      {"letters in their order", einsum("cb,a", {square, pair}), {2, 2, 2}, {0, 2, 1, 3, 0, 4, 2, 6}},
      {"capitals come first", einsum("aB", {square}), {2, 2}, {0, 2, 1, 3}},
      {"blanks", einsum(" i j , j -> i ", {square, pair}), {2}, {2, 8}},
      {"all summed", einsum("ij->", {square}), {}, {6}},
      {"a letter of one operand alone", einsum("ij,k->k", {square, pair}), {2}, {6, 12}},
      {"three that share a letter", einsum("i,i,i->i", {pair, pair, pair}), {2}, {1, 8}},
      {"three in a chain", einsum("a,ab,b", {pair, square, pair}), {}, {18}},
  });
}

TEST(ArrayEdges, EinsumSaysWhatItCannotRead) {
  const Tensor a = ones({2, 3}), b = ones({3, 4});
  const auto refused = [](const char* spec, const std::vector<Tensor>& operands) {
    return error_said([&] { einsum(spec, operands); });
  };
  EXPECT_EQ(refused("ij", {a, b}), "einsum.spec: \"ij\": names 1 operands, got 2");
  EXPECT_EQ(refused("i1", {a}), "einsum.spec: \"i1\": has '1' where a letter or one ... stands");
  EXPECT_EQ(refused("......ij", {a}), "einsum.spec: \"......ij\": has '.' where a letter or one ... stands");
  EXPECT_EQ(refused("...ij->ij", {ones({2, 2, 3})}),
            "einsum.spec: \"...ij->ij\": the result leaves out the axes of ...");
  EXPECT_EQ(refused("...ij->ij", {a}), "") << "of no axes";
  EXPECT_EQ(refused("ij->ijk", {a}), "einsum.spec: \"ij->ijk\": no operand has the result's 'k'");
  EXPECT_EQ(refused("ij->iji", {a}), "einsum.spec: \"ij->iji\": the result names 'i' twice");
  EXPECT_EQ(refused("i,jk", {a, b}), "einsum.rank: \"i\" names 1 axes of operand 0, which is f32[2,3]");
  EXPECT_EQ(refused("ij,...ijk", {a, b}),
            "einsum.rank: \"...ijk\" names 3 axes of operand 1, which is f32[3,4]");
  EXPECT_EQ(refused("ij,ik", {a, b}), "einsum.size: 'i' is 2 and, in operand 1 (f32[3,4]), 3");
  EXPECT_EQ(refused("...,...", {a, b}), "einsum.size: axis -2 of ... is 2 and, in operand 1 (f32[3,4]), 3");
  EXPECT_EQ(refused("ij,jj", {a, b}),
            "einsum.size: 'j' is 3 and 4 in operand 1 (f32[3,4]): a size of 1 stands for another across "
            "operands alone");
}

TEST(ArrayEdges, WhatIsMade) {
  const Tensor row = counted_up({3});
  expect_each({
      {"eye of rows alone", eye(2), {2, 2}, {1, 0, 0, 1}},
      {"eye below", eye(2, 3, -1), {2, 3}, {0, 0, 0, 1, 0, 0}},
      {"eye of no columns", eye(2, 0), {2, 0}, {}},
      {"eye far out", eye(2, 2, 2), {2, 2}, {0, 0, 0, 0}},
      {"tril above", tril(counted_up({2, 3}) + 1, 1), {2, 3}, {1, 2, 0, 4, 5, 6}},
      {"triu", triu(counted_up({2, 2}) + 1), {2, 2}, {1, 2, 0, 4}},
      {"triu below", triu(counted_up({3, 2}) + 1, -1), {3, 2}, {1, 2, 3, 4, 0, 6}},
      {"tril of each matrix", tril(counted_up({2, 2, 2}) + 1), {2, 2, 2}, {1, 0, 3, 4, 5, 0, 7, 8}},
      {"diag above", diag(Tensor::of<float>({1, 2}), 1), {3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0}},
      {"diag of the main one", diag(Tensor::of<float>({1, 2})), {2, 2}, {1, 0, 0, 2}},
      {"diag that has one element", diag(counted_up({2, 3}), 2), {1}, {2}},
      {"diag that has just none", diag(counted_up({2, 3}), 3), {0}, {}},
      {"diag of the last row", diag(counted_up({2, 3}), -1), {1}, {3}},
      {"arange from above", arange(5, -1, -2), {3}, {5, 3, 1}},
      {"arange to its end", arange(0, 6, 3), {2}, {0, 3}},
      {"arange behind its end", arange(0, 7, 3), {3}, {0, 3, 6}},
      {"arange that is empty", arange(3, 3), {0}, {}},
      {"arange of the most that a type holds", arange(126, 128, 1, DType::kI8), {2}, {126, 127}},
      {"linspace down", linspace(1, -1, 3), {3}, {1, 0, -1}},
      {"linspace of one without its end", linspace(2, 3, 1, false), {1}, {2}},
      {"linspace of two", linspace(2, 3, 2), {2}, {2, 3}},
      {"meshgrid of three", meshgrid({row, arange(2), arange(1)})[0], {2, 3, 1}, {0, 1, 2, 0, 1, 2}},
      {"its second", meshgrid({row, arange(2), arange(1)})[1], {2, 3, 1}, {0, 0, 0, 1, 1, 1}},
      {"its third", meshgrid({row, arange(2), arange(1)})[2], {2, 3, 1}, {0, 0, 0, 0, 0, 0}},
      {"meshgrid of one", meshgrid({row})[0], {3}, {0, 1, 2}},
      {"meshgrid of a scalar", meshgrid({row, full({}, 4)})[1], {1, 3}, {4, 4, 4}},
  });
  EXPECT_EQ(linspace(0, 1, 3, true, DType::kF64).dtype(), DType::kF64);
  EXPECT_EQ(eye(2, -1, 0, DType::kI32).dtype(), DType::kI32);
  EXPECT_EQ(error_said([] { eye(-1); }), "eye.rows: must not be negative, got -1");
  EXPECT_EQ(error_said([] { linspace(0, 1, -1); }), "linspace.count: must not be negative, got -1");
  EXPECT_EQ(error_said([] { linspace(0, 1, 2, true, DType::kI32); }),
            "linspace.dtype: takes a floating-point dtype, got i32");
  EXPECT_EQ(error_said([] { meshgrid({arange(2)}, "yx"); }),
            "meshgrid.indexing: is \"xy\" or \"ij\", got \"yx\"");
  EXPECT_EQ(error_said([] {
              meshgrid({arange(2), ones({2, 2})});
            }),
            "meshgrid.rank: input 1 is f32[2,2], not 1-d");
  EXPECT_EQ(error_said([] { tril(ones({2})); }), "tril.rank: needs at least two axes, got f32[2]");
  EXPECT_EQ(error_said([] { triu(ones({2})); }), "triu.rank: needs at least two axes, got f32[2]");
  EXPECT_EQ(error_said([] { diag(ones({1, 1, 1})); }), "diag.rank: takes one or two axes, got f32[1,1,1]");
  EXPECT_EQ(error_said([] { arange(126, 129, 1, DType::kI8); }), "arange.range: i8 does not hold 128.000000");
}

TEST(ArrayEdges, WhatIsJoinedAndMoved) {
  const Tensor x = counted_up({2, 3}), row = counted_up({3});
  expect_each({
      {"squeeze of two", squeeze(counted_up({1, 2, 1}), {0, -1}), {2}, {0, 1}},
      {"squeeze of none", squeeze(row), {3}, {0, 1, 2}},
      {"stack at the end", stack({row, row + 5}, 1), {3, 2}, {0, 5, 1, 6, 2, 7}},
      {"stack in front", stack({row, row + 5}), {2, 3}, {0, 1, 2, 5, 6, 7}},
      {"split from the back", split(x, 3, -1)[1], {2, 1}, {1, 4}},
      {"split by sizes", split(x, {2, 0, 1}, 1)[2], {2, 1}, {2, 5}},
      {"unstack columns", unstack(x, -1)[2], {2}, {2, 5}},
      {"unstack rows", unstack(x)[1], {3}, {3, 4, 5}},
      {"tile of fewer axes", tile(x, {2}), {2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
      {"tile of more axes", tile(row, {2, 1, 1}), {2, 1, 3}, {0, 1, 2, 0, 1, 2}},
      {"repeat columns", repeat(x, 2, -1), {2, 6}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
      {"flip of rows", flip(x, 0), {2, 3}, {3, 4, 5, 0, 1, 2}},
      {"roll by its size", roll(row, 3, 0), {3}, {0, 1, 2}},
      {"roll by more", roll(row, 7, 0), {3}, {2, 0, 1}},
      {"roll back by its size", roll(row, -3, 0), {3}, {0, 1, 2}},
      {"roll back", roll(row, -1, -1), {3}, {1, 2, 0}},
      {"moveaxis of two", moveaxis(counted_up({1, 2, 3}), {2, 0}, {0, 1}), {3, 1, 2}, {0, 3, 1, 4, 2, 5}},
      {"swapaxes", swapaxes(counted_up({1, 2, 3}), 1, 2), {1, 3, 2}, {0, 3, 1, 4, 2, 5}},
      {"pad of one axis", pad(x, {{0, 0}, {1, 0}}, PadMode::kConstant, 9), {2, 4}, {9, 0, 1, 2, 9, 3, 4, 5}},
      {"pad by 0", pad(row, {{1, 1}}), {5}, {0, 0, 1, 2, 0}},
      {"reflect of one element", pad(ones({1}), {{2, 1}}, PadMode::kReflect), {4}, {1, 1, 1, 1}},
      {"symmetric of one element", pad(ones({1}), {{1, 2}}, PadMode::kSymmetric), {4}, {1, 1, 1, 1}},
      {"reflect far", pad(row, {{5, 0}}, PadMode::kReflect), {8}, {1, 0, 1, 2, 1, 0, 1, 2}},
      {"edge behind", pad(row, {{0, 2}}, PadMode::kEdge), {5}, {0, 1, 2, 2, 2}},
  });
  EXPECT_EQ(error_said([&] { squeeze(x, 1); }), "squeeze.size: axis 1 of f32[2,3] is not 1");
  EXPECT_EQ(error_said([&] { expand_dims(x, Axes()); }),
            "expand_dims.axes: names the positions of the new axes");
  EXPECT_EQ(error_said([&] { moveaxis(x, {0, 1}, {0}); }), "moveaxis.count: moves 2 axes to 1 positions");
  EXPECT_EQ(error_said([&] { stack({}); }), "stack.count: needs at least one input");
  EXPECT_EQ(error_said([&] {
              stack({row, row, x});
            }),
            "stack.type: inputs must have one type: input 0 is f32[3], input 2 is f32[2,3]");
  EXPECT_EQ(error_said([&] { split(x, 0, 1); }),
            "split.parts: axis 1 of f32[2,3] does not split into 0 equal parts");
  EXPECT_EQ(error_said([&] {
              split(x, {1, 1}, 1);
            }),
            "split.sizes: sizes [1,1] sum to 2, axis 1 of f32[2,3] is 3");
  EXPECT_EQ(error_said([&] { tile(x, {1, -1}); }), "tile.repeats: must not be negative: [1,-1]");
  EXPECT_EQ(error_said([&] { repeat(x, -1, 0); }), "repeat.repeats: must not be negative, got -1");
  EXPECT_EQ(error_said([&] { pad(x, {{0, 0}}); }), "pad.widths: needs 2 pairs for f32[2,3], got 1");
  EXPECT_EQ(error_said([&] { pad(row, {{1, -1}}); }), "pad.widths: must not be negative: {1, -1}");
  EXPECT_EQ(error_said([&] {
              pad(zeros({0}), {{0, 1}}, PadMode::kEdge);
            }),
            "pad.empty: axis 0 of f32[0] has no element to repeat");
}

TEST(ArrayEdges, WhatIsReduced) {
  const Tensor cube = counted_up({2, 2, 2}), square = counted_up({2, 2});
  const Tensor huge = Tensor::of<float>({1e30f, 3e30f});
  expect_each({
      {"sum of outer axes", sum(cube, {0, 2}), {2}, {10, 18}},
      {"prod with its axis", prod(square + 1, 0, true), {1, 2}, {3, 8}},
      {"max of outer axes", max(cube, {2, 0}, true), {1, 2, 1}, {5, 7}},
      {"min of all", min(cube + 3), {}, {3}},
      {"mean of outer axes", mean(cube, {0, 2}), {2}, {2.5f, 4.5f}},
      {"var of rows", var(square, 0), {2}, {1, 1}},
      {"var, corrected", var(square, 0, false, 1), {2}, {2, 2}},
      {"var of as many as are taken off", var(square, 0, false, 2), {2}, {kInf, kInf}},
      {"var of fewer", var(square, 0, false, 3), {2}, {kInf, kInf}},
      {"stddev with its axis", stddev(square * 3, 1, true), {2, 1}, {1.5f, 1.5f}},
      {"stddev, corrected", stddev(square, 0, false, -6), {2}, {0.5f, 0.5f}},
      {"norm of order 1 with its axis", norm(square - 2, 1, 1, true), {2, 1}, {3, 1}},
      {"largest norm of rows", norm(square - 3, kInf, 1), {2}, {3, 1}},
      {"norm of columns", norm(Tensor::of<float>({3, 5, 4, 12}, {2, 2}), 2, 0), {2}, {5, 13}},
      {"any of rows", any(square > 1, 1), {2}, {0, 1}},
      {"all of columns", all(square > 0, 0), {2}, {0, 1}},
      {"nonzero ones", count_nonzero(square, 0), {2}, {1, 2}},
      {"nonzero NaN", count_nonzero(Tensor::of<float>({0, std::nanf(""), -0.0f})), {}, {1}},
  });
  EXPECT_NEAR(logsumexp(zeros({2, 1})).item<float>(), std::log(2.0), 1e-6);
  // ln of e^0 + e^1 + e^4 + e^5, and of the others.
  const auto logs = logsumexp(cube, {0, 2}, true);
  EXPECT_EQ(logs.shape(), (Shape{1, 2, 1}));
  EXPECT_NEAR(logs.to_vector<float>()[0], std::log(1 + std::exp(1.0) + std::exp(4.0) + std::exp(5.0)), 1e-5);
  EXPECT_NEAR(logs.to_vector<float>()[1], logs.to_vector<float>()[0] + 2, 1e-5);
  EXPECT_FLOAT_EQ(stddev(huge).item<float>(), 1e30f);
  EXPECT_EQ(error_said([&] { sum(cube, {0, -3}); }), "sum.axis: axis -3 is named twice in [0,-3]");
  EXPECT_EQ(error_said([&] { any(cube); }), "any.dtype: takes bool elements, got f32[2,2,2]");
  EXPECT_EQ(error_said([&] { all(cube); }), "all.dtype: takes bool elements, got f32[2,2,2]");
  EXPECT_EQ(error_said([&] { sum(cube > 1); }), "sum.dtype: takes numbers, got bool[2,2,2]");
  EXPECT_EQ(error_said([&] { norm(cube, 3); }), "norm.order: is 1, 2 or infinity, got 3.000000");
}

TEST(ArrayEdges, WhatIsChosenByValues) {
  const Tensor x = counted_up({2, 2, 2}), mask = x > 4,
               square = Tensor::of<bool>({true, false, true, true}, {2, 2});
  const std::vector<Tensor> places = nonzero(mask);
  expect_each({
      {"places on the first axis", places[0], {3}, {1, 1, 1}},
      {"on the second", places[1], {3}, {0, 1, 1}},
      {"on the third", places[2], {3}, {1, 0, 1}},
      {"mask of two axes in front", boolean_mask(x, square), {3, 2}, {0, 1, 4, 5, 6, 7}},
      {"mask of two axes behind", boolean_mask(x, square, 1), {2, 3}, {0, 2, 3, 4, 6, 7}},
      {"mask from the back", boolean_mask(x, Tensor::of<bool>({false, true}), -1), {2, 2, 1}, {1, 3, 5, 7}},
      {"unique of booleans", unique(mask).values, {2}, {0, 1}},
      {"counts of booleans", unique(mask).counts, {2}, {5, 3}},
      {"inverse has its shape", unique(square).inverse, {2, 2}, {1, 0, 1, 1}},
      {"unique of zeros", unique(Tensor::of<float>({0, -0.0f, -1})).counts, {2}, {1, 2}},
      {"unique of nothing", unique(zeros({0})).values, {0}, {}},
  });
  EXPECT_EQ(unique(Tensor::of<int64_t>({-1, int64_t{1} << 40, -1})).values.to_vector<int64_t>(),
            (std::vector<int64_t>{-1, int64_t{1} << 40}));
  EXPECT_EQ(error_said([&] { nonzero(Tensor::scalar(1.0f)); }), "nonzero.rank: takes no scalars, got f32[]");
  EXPECT_EQ(error_said([&] { boolean_mask(x, x); }),
            "boolean_mask.dtype: the mask must be bool with an axis at least, got f32[2,2,2]");
  EXPECT_EQ(error_said([&] { boolean_mask(x, Tensor::scalar(true)); }),
            "boolean_mask.dtype: the mask must be bool with an axis at least, got bool[]");
  EXPECT_EQ(error_said([&] { boolean_mask(x, square, 2); }),
            "boolean_mask.mask: a mask of bool[2,2] does not fit the axes of f32[2,2,2] from axis 2 on");
  EXPECT_EQ(error_said([&] { boolean_mask(x, Tensor::of<bool>({true}), 1); }),
            "boolean_mask.mask: a mask of bool[1] does not fit the axes of f32[2,2,2] from axis 1 on");
}

TEST(ArrayEdges, WhatIsMultiplied) {
  const Tensor cube = counted_up({2, 2, 2}), square = counted_up({2, 2}), pair = counted_up({2}) + 1;
  expect_each({
      {"a row by matrices", matmul(pair, cube), {2, 2}, {4, 7, 16, 19}},
      {"matrices by a column", matmul(cube, pair), {2, 2}, {2, 8, 14, 20}},
      {"a matrix by matrices", matmul(square, cube), {2, 2, 2}, {2, 3, 6, 11, 6, 7, 26, 31}},
      {"broadcast", matmul(cube, reshape(square, {1, 2, 2})), {2, 2, 2}, {2, 3, 6, 11, 10, 19, 14, 27}},
      {"tensordot of no axes", tensordot(pair, pair, 0), {2, 2}, {1, 2, 2, 4}},
      {"tensordot of chosen axes",
       tensordot(square, cube, {0}, {1}),
       {2, 2, 2},
       {4, 6, 12, 14, 6, 10, 22, 26}},
      {"tensordot from the back", tensordot(square, square, {-1}, {-2}), {2, 2}, {2, 3, 6, 11}},
      {"outer of matrices", outer(square, pair), {4, 2}, {0, 0, 1, 2, 2, 4, 3, 6}},
  });
  EXPECT_EQ(
      error_said([&] {
        matmul(ones({2, 3}), ones({2, 3}));
      }),
      "matmul.k: the last axis of a and the last but one of b must be equal: f32[2,3] and f32[2,3] (3 vs "
      "2)");
  EXPECT_EQ(error_said([&] { matmul(pair, full({}, 1)); }),
            "matmul.rank: takes no scalars: f32[2] and f32[]");
  EXPECT_EQ(error_said([&] { tensordot(square, pair, 2); }), "tensordot.axes: 2 axes of f32[2,2] and f32[2]");
  EXPECT_EQ(error_said([&] { tensordot(square, pair, -1); }),
            "tensordot.axes: -1 axes of f32[2,2] and f32[2]");
}

}  // namespace
}  // namespace espalier
