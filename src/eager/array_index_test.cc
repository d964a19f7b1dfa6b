#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/indexing.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

using Floats = std::vector<float>;
Floats floats_of(const Tensor& t) { return t.to_vector<float>(); }
Tensor counting_rows(const Shape& shape) { return reshape(arange(num_elements(shape), DType::kF32), shape); }
Tensor places(std::initializer_list<int32_t> values) { return Tensor::of<int32_t>(values); }

TEST(ArrayIndex, IntegersAndSlices) {
  const Tensor x = counting_rows({3, 4});
  EXPECT_EQ(floats_of(index(x, {1})), (Floats{4, 5, 6, 7}));
  EXPECT_EQ(index(x, {-1, -2}).item<float>(), 10);
  EXPECT_EQ(floats_of(index(x, {Slice{}, 1})), (Floats{1, 5, 9}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{1, 3}})), (Floats{1, 2}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{.step = 2}})), (Floats{0, 2}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{.step = -1}})), (Floats{3, 2, 1, 0}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{-1, 0, -2}})), (Floats{3, 1}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{-3, 99}})), (Floats{1, 2, 3}));
  EXPECT_EQ(floats_of(index(x, {0, Slice{99, {}, -3}})), (Floats{3, 0}));
  EXPECT_EQ(index(x, {Slice{2, 1}}).shape(), (Shape{0, 4}));
}

TEST(ArrayIndex, EllipsisAndNewAxes) {
  const Tensor x = counting_rows({2, 3, 4});
  EXPECT_EQ(floats_of(index(x, {kEllipsis, 0})), (Floats{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(index(x, {0, kEllipsis, Slice{1, 3}}).shape(), (Shape{3, 2}));
  EXPECT_EQ(index(x, {kNewAxis, kEllipsis, kNewAxis, 1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(index(x, {}).shape(), x.shape());
}

TEST(ArrayIndex, TensorsPick) {
  const Tensor x = counting_rows({3, 4});
  EXPECT_EQ(floats_of(index(x, {places({2, 0, -1})})), (Floats{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(floats_of(index(x, {places({0, 2}), places({1, 3})})), (Floats{1, 11}));
  EXPECT_EQ(floats_of(index(x, {Slice{1, 3}, places({3, 0})})), (Floats{7, 4, 11, 8}));
  EXPECT_EQ(floats_of(index(x, {places({0, 1}), 2})), (Floats{2, 6}));
  const Tensor y = counting_rows({2, 3, 4});
  // A slice between the tensors puts their axis first, as in NumPy.
  EXPECT_EQ(index(y, {places({0, 1, 0}), Slice{}, places({1, 2, 3})}).shape(), (Shape{3, 3}));
  EXPECT_EQ(floats_of(index(y, {places({0, 1, 0}), Slice{}, places({1, 2, 3})})),
            (Floats{1, 5, 9, 14, 18, 22, 3, 7, 11}));
  EXPECT_EQ(index(y, {Slice{}, reshape(places({0, 1, 2, 0}), {2, 2})}).shape(), (Shape{2, 2, 2, 4}));
  // Three of neighbouring axes leave it where the first of them was.
  const Tensor z = counting_rows({2, 3, 4, 5});
  const Tensor of_three = index(z, {Slice{}, places({0, 2}), places({1, 3}), places({4, 0})});
  EXPECT_EQ(of_three.shape(), (Shape{2, 2}));
  EXPECT_EQ(floats_of(of_three), (Floats{9, 55, 69, 115}));
  EXPECT_EQ(index(y, {Slice{}, kNewAxis, places({0, 1})}).shape(), (Shape{2, 1, 2, 4}));
}

TEST(ArrayIndex, MasksPick) {
  const Tensor x = counting_rows({2, 3});
  EXPECT_EQ(floats_of(index(x, {x > 2})), (Floats{3, 4, 5}));
  EXPECT_EQ(floats_of(index(x, {Slice{}, Tensor::of<bool>({true, false, true})})), (Floats{0, 2, 3, 5}));
}

TEST(ArrayIndex, Errors) {
  const Tensor x = counting_rows({3, 4});
  EXPECT_EQ(rule_of([&] { index(x, {0, 0, 0}); }), "index.count");
  EXPECT_EQ(rule_of([&] { index(x, {3}); }), "index.range");
  EXPECT_EQ(rule_of([&] { index(x, {places({0, 3})}); }), "index.range");
  EXPECT_EQ(rule_of([&] { index(x, {Slice{.step = 0}}); }), "index.step");
  EXPECT_EQ(rule_of([&] { index(x, {kEllipsis, kEllipsis}); }), "index.ellipsis");
  EXPECT_EQ(rule_of([&] { index(x, {x}); }), "index.dtype");
  EXPECT_EQ(rule_of([&] { index(x, {Tensor::of<bool>({true})}); }), "index.mask");
}

TEST(ArrayIndex, SaysWhatItCannotPick) {
  const Tensor x = counting_rows({3, 4});
  const auto said = [&](const std::vector<Index>& indices) -> std::string {
    try {
      index(x, indices);
    } catch (const Error& error) {
      return error.rule() + ": " + error.message();
    }
    return "";
  };
  EXPECT_EQ(said({0, 0, 0}), "index.count: 3 indices for f32[3,4]");
  EXPECT_EQ(said({2, 3}), "");
  EXPECT_EQ(said({-3, -4}), "");
  EXPECT_EQ(said({0, 4}), "index.range: position 4 is outside of axis 1 of size 4");
  EXPECT_EQ(said({kEllipsis, -5}), "index.range: position -5 is outside of axis 1 of size 4");
  EXPECT_EQ(said({3}), "index.range: position 3 is outside of axis 0 of size 3");
  EXPECT_EQ(said({Slice{.step = 0}}), "index.step: the step of a slice must not be 0");
  EXPECT_EQ(said({0, Tensor::of<bool>({true, true, false})}),
            "index.mask: a mask of bool[3] does not fit the axes of f32[3,4] from axis 1 on");
  EXPECT_EQ(said({0, 0, Tensor::of<bool>({true})}),
            "index.mask: a mask of bool[1] does not fit the axes of f32[3,4] from axis 2 on");
}

TEST(ArrayIndex, Assignment) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(floats_of(assign_at(x, {1}, 5)), (Floats{0, 0, 0, 5, 5, 5}));
  EXPECT_EQ(floats_of(assign_at(x, {Slice{}, Slice{1, 3}}, Tensor::of<float>({7, 8}))),
            (Floats{0, 7, 8, 0, 7, 8}));
  EXPECT_EQ(floats_of(assign_at(x, {0, Slice{.step = -2}}, Tensor::of<float>({1, 2}))),
            (Floats{2, 0, 1, 0, 0, 0}));
  EXPECT_EQ(floats_of(assign_at(x, {places({1, 0}), places({0, 2})}, Tensor::of<float>({4, 6}))),
            (Floats{0, 0, 6, 4, 0, 0}));
  EXPECT_EQ(floats_of(assign_at(counting_rows({2, 3}), {counting_rows({2, 3}) > 3}, -1)),
            (Floats{0, 1, 2, 3, -1, -1}));
  EXPECT_EQ(floats_of(assign_at(x, {Slice{0, 0}}, 5)), floats_of(x));
  EXPECT_EQ(floats_of(x), (Floats(6, 0)));
  EXPECT_EQ(rule_of([&] { assign_at(x, {0}, arange(3)); }), "assign_at.dtype");
}

TEST(ArrayIndex, GradientsReachTheElementsTaken) {
  const Tensor x = Tensor::of<float>({1, 2, 3}), v = Tensor::scalar(5.0f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(v);
  const Tensor picked = sum(index(x, {places({2, 2, 0})}) * Tensor::of<float>({10, 100, 1}));
  const Tensor assigned = sum(assign_at(x, {Slice{.step = 2}}, v) * x);
  EXPECT_EQ(floats_of(tape.gradient(picked, x)), (Floats{1, 0, 110}));
  EXPECT_EQ(floats_of(tape.gradient(assigned, x)), (Floats{5, 4, 5}));
  EXPECT_EQ(tape.gradient(assigned, v).item<float>(), 4);
}

}  // namespace
}  // namespace espalier
