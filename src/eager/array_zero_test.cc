// Tensor functions of arrays with axes of size 0: the shapes that NumPy gives, and sums over nothing.
#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/indexing.h"
#include "espalier/random.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

// What each operand is named for below.
struct Empty {
  Tensor rows;     // f32[0,4]
  Tensor columns;  // f32[3,0]
  Tensor none;     // f32[0]
  Tensor four;     // f32[4]
};

struct EmptyCase {
  const char* name;
  std::function<Tensor(const Empty&)> call;
  Shape shape;
  float value = 0;  // of every element, if there is one
};

std::vector<EmptyCase> empty_cases() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto ids = [](const Shape& shape) { return zeros(shape, DType::kI32); };
  const auto mask = [](const Shape& shape, bool value) { return full(shape, value, DType::kBool); };
  return {
      {"broadcast of many",
       [](const Empty&) {
         return broadcast_to(ones({100000}), {0, 100000});
       },
       {0, 100000}},
      {"broadcast",
       [](const Empty& x) {
         return broadcast_to(x.four, {0, 4});
       },
       {0, 4}},
      {"broadcast in between",
       [](const Empty& x) {
         return broadcast_to(x.columns, {2, 3, 0});
       },
       {2, 3, 0}},
      {"take_along_axis",
       [=](const Empty& x) {
         return take_along_axis(x.rows, ids({0, 2}), 1);
       },
       {0, 2}},
      {"take_along_axis of nothing",
       [=](const Empty& x) {
         return take_along_axis(x.rows, ids({0, 4}), 0);
       },
       {0, 4}},
      {"take_along_axis of columns",
       [=](const Empty& x) {
         return take_along_axis(x.columns, ids({2, 0}), 0);
       },
       {2, 0}},
      {"take",
       [=](const Empty& x) {
         return take(x.rows, ids({0, 2}), 0);
       },
       {0, 2, 4}},
      {"take of columns", [=](const Empty& x) { return take(x.columns, ids({2}), 0); }, {2, 0}},
      {"one_hot of none", [=](const Empty&) { return one_hot(ids({0}), 3); }, {0, 3}},
      {"one_hot of no class", [=](const Empty&) { return one_hot(ids({2}), 0); }, {2, 0}},
      {"sum of rows", [](const Empty& x) { return sum(x.rows, 0); }, {4}, 0},
      {"sum of none", [](const Empty& x) { return sum(x.none); }, {}, 0},
      {"sum to nothing", [](const Empty& x) { return sum(x.rows, 1); }, {0}},
      {"sum with its axis", [](const Empty& x) { return sum(x.columns, 1, true); }, {3, 1}, 0},
      {"prod", [](const Empty& x) { return prod(x.rows, 0); }, {4}, 1},
      {"max", [=](const Empty& x) { return max(x.rows, 0); }, {4}, -inf},
      {"min", [=](const Empty& x) { return min(x.columns, 1); }, {3}, inf},
      {"mean", [=](const Empty& x) { return mean(x.rows, 0); }, {4}, nan},
      {"mean to nothing", [=](const Empty& x) { return mean(x.rows, 1); }, {0}},
      {"var", [=](const Empty& x) { return var(x.columns, 1); }, {3}, nan},
      {"logsumexp", [=](const Empty& x) { return logsumexp(x.rows, Axes(0)); }, {4}, -inf},
      {"norm", [](const Empty& x) { return norm(x.rows, 2, 0); }, {4}, 0},
      {"largest norm", [](const Empty& x) { return norm(x.rows, INFINITY, 0); }, {4}, 0},
      {"any", [](const Empty& x) { return convert(any(x.rows > 0, 0), DType::kF32); }, {4}, 0},
      {"all", [](const Empty& x) { return convert(all(x.rows > 0, 0), DType::kF32); }, {4}, 1},
      {"count_nonzero",
       [](const Empty& x) { return convert(count_nonzero(x.rows, 0), DType::kF32); },
       {4},
       0},
      {"argmax", [](const Empty& x) { return argmax(x.rows, 1); }, {0}},
      {"sort", [](const Empty& x) { return sort(x.rows, 0); }, {0, 4}},
      {"argsort", [](const Empty& x) { return argsort(x.columns, 1); }, {3, 0}},
      {"top_k", [](const Empty& x) { return top_k(x.rows, 2)[0]; }, {0, 2}},
      {"top_k of nothing", [](const Empty& x) { return top_k(x.columns, 0)[1]; }, {3, 0}},
      {"cumsum", [](const Empty& x) { return cumsum(x.rows, 0); }, {0, 4}},
      {"cumlogsumexp", [](const Empty& x) { return cumlogsumexp(x.columns, 1); }, {3, 0}},
      {"matmul over nothing", [](const Empty& x) { return matmul(x.columns, x.rows); }, {3, 4}, 0},
      {"matmul to nothing",
       [](const Empty& x) {
         return matmul(x.rows, ones({4, 2}));
       },
       {0, 2}},
      {"matmul of vectors", [](const Empty& x) { return matmul(x.none, x.none); }, {}, 0},
      {"tensordot", [](const Empty& x) { return tensordot(x.rows, x.rows, {0}, {0}); }, {4, 4}, 0},
      {"outer", [](const Empty& x) { return outer(x.none, x.four); }, {0, 4}},
      {"einsum",
       [](const Empty& x) {
         return einsum("ij,jk->ki", {x.columns, x.rows});
       },
       {4, 3},
       0},
      {"concat",
       [](const Empty& x) {
         return concat({x.rows, ones({2, 4}), x.rows});
       },
       {2, 4},
       1},
      {"stack",
       [](const Empty& x) {
         return stack({x.none, x.none}, 1);
       },
       {0, 2}},
      {"split", [](const Empty& x) { return split(x.rows, 2, 1)[1]; }, {0, 2}},
      {"split off nothing",
       [](const Empty& x) {
         return split(x.four, {0, 4})[0];
       },
       {0}},
      {"unstack", [](const Empty& x) { return unstack(x.rows, 1)[3]; }, {0}},
      {"tile",
       [](const Empty& x) {
         return tile(x.rows, {2, 3});
       },
       {0, 12}},
      {"tile no times", [](const Empty& x) { return tile(x.four, {0}); }, {0}},
      {"repeat", [](const Empty& x) { return repeat(x.rows, 2, 1); }, {0, 8}},
      {"repeat no times", [](const Empty& x) { return repeat(x.four, 0, 0); }, {0}},
      {"flip", [](const Empty& x) { return flip(x.rows); }, {0, 4}},
      {"roll", [](const Empty& x) { return roll(x.rows, 1, 0); }, {0, 4}},
      {"roll along another axis", [](const Empty& x) { return roll(x.rows, 3, 1); }, {0, 4}},
      {"pad",
       [](const Empty& x) {
         return pad(x.rows, {{1, 1}, {0, 0}}, PadMode::kConstant, 7);
       },
       {2, 4},
       7},
      {"pad along another axis",
       [](const Empty& x) {
         return pad(x.rows, {{0, 0}, {1, 2}}, PadMode::kReflect);
       },
       {0, 7}},
      {"tril", [](const Empty& x) { return tril(x.rows); }, {0, 4}},
      {"diag of none", [](const Empty& x) { return diag(x.none); }, {0, 0}},
      {"diag of rows", [](const Empty& x) { return diag(x.rows); }, {0}},
      {"eye", [](const Empty&) { return eye(0, 3); }, {0, 3}},
      {"linspace", [](const Empty&) { return linspace(0, 1, 0); }, {0}},
      {"where", [](const Empty& x) { return where(x.rows > 0, x.rows, 1); }, {0, 4}},
      {"mod", [](const Empty& x) { return mod(x.rows, 3); }, {0, 4}},
      {"clip", [](const Empty& x) { return clip(x.rows, 0, 1); }, {0, 4}},
      {"boolean_mask", [=](const Empty& x) { return boolean_mask(x.rows, mask({0}, true)); }, {0, 4}},
      {"boolean_mask of none", [=](const Empty& x) { return boolean_mask(x.four, mask({4}, false)); }, {0}},
      {"index",
       [](const Empty& x) {
         return index(x.rows, {Slice{}, 2});
       },
       {0}},
      {"index by ids",
       [=](const Empty& x) {
         return index(x.four, {ids({0, 2})});
       },
       {0, 2}},
      {"slice of nothing",
       [](const Empty& x) {
         return index(x.four, {Slice{3, 1}});
       },
       {0}},
      {"assign",
       [](const Empty& x) {
         return assign_at(x.four, {Slice{2, 2}}, 9);
       },
       {4},
       1},
      {"softmax", [](const Empty& x) { return softmax(x.rows, 1); }, {0, 4}},
      {"softmax over nothing", [](const Empty& x) { return softmax(x.columns, 1); }, {3, 0}},
      {"transpose", [](const Empty& x) { return transpose(x.rows); }, {4, 0}},
      {"random",
       [](const Empty&) {
         return Generator(1).normal({0, 3});
       },
       {0, 3}},
      {"shuffle", [](const Empty& x) { return Generator(1).shuffle(x.rows); }, {0, 4}},
      {"categorical", [](const Empty& x) { return Generator(1).categorical(x.rows, 2); }, {0, 2}},
  };
}

void expect_all(const EmptyCase& c, const Tensor& found) {
  ASSERT_EQ(found.shape(), c.shape);
  if (num_elements(c.shape) == 0 || found.dtype() != DType::kF32) return;
  for (const float value : found.to_vector<float>())
    EXPECT_TRUE(value == c.value || (std::isnan(value) && std::isnan(c.value)))
        << value << ", not " << c.value;
}

TEST(ArrayZeroSizes, ShapesAreNumPysAndSumsOverNothingTheirInitialValues) {
  const Empty x{zeros({0, 4}), zeros({3, 0}), zeros({0}), ones({4})};
  for (const EmptyCase& c : empty_cases()) {
    SCOPED_TRACE(c.name);
    expect_all(c, c.call(x));
    const auto traced =
        function([&](const Tensor& rows, const Tensor& columns, const Tensor& none, const Tensor& four) {
          return c.call({rows, columns, none, four});
        });
    expect_all(c, traced(x.rows, x.columns, x.none, x.four));
    GradientTape tape;
    for (const Tensor* one : {&x.rows, &x.columns, &x.none, &x.four}) tape.watch(*one);
    const Tensor result = c.call(x);
    if (!is_float(result.dtype())) continue;
    const Tensors gradients = tape.gradient(result, {x.rows, x.columns, x.none, x.four});
    const Tensor* const of[] = {&x.rows, &x.columns, &x.none, &x.four};
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      EXPECT_EQ(gradients[i].shape(), of[i]->shape());
    }
  }
}

TEST(ArrayZeroSizes, WhatNeedsAnElementIsRefused) {
  const Tensor rows = zeros({0, 4}), one = zeros({1, 4}, DType::kI32);
  EXPECT_EQ(rule_of([&] { argmax(rows, 0); }), "argmax.c2");
  EXPECT_EQ(rule_of([&] { take_along_axis(rows, one, 0); }), "take_along_axis.range");
  EXPECT_EQ(rule_of([&] { function([&](const Tensor& ids) { return take_along_axis(rows, ids, 0); })(one); }),
            "take_along_axis.range");
  EXPECT_EQ(rule_of([&] { take(rows, one, 0); }), "take.range");
  EXPECT_NE(rule_of([&] { pad(rows, {{1, 0}, {0, 0}}, PadMode::kEdge); }), "");
  EXPECT_NE(rule_of([&] { matmul(rows, zeros({3, 0})); }), "");
}

}  // namespace
}  // namespace espalier
