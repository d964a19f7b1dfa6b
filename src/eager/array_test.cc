#include "espalier/array.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/function.h"
#include "espalier/indexing.h"
#include "espalier/random.h"
#include "espalier/tape.h"
#include "espalier/transforms.h"
#include "ir/builder.h"

namespace espalier {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Floats f(const Tensor& t) { return t.to_vector<float>(); }
Ints i(const Tensor& t) { return t.to_vector<int32_t>(); }
Tensor counting(const Shape& shape) { return reshape(arange(num_elements(shape), DType::kF32), shape); }

TEST(ArrayCreate, RangesAndGrids) {
  EXPECT_EQ(f(arange(1, 2, 0.25)), (Floats{1, 1.25f, 1.5f, 1.75f}));
  EXPECT_EQ(i(arange(3, 0, -2)), (Ints{3, 1}));
  EXPECT_EQ(f(arange(2.5)), (Floats{0, 1, 2}));
  EXPECT_EQ(i(arange(2, 5)), (Ints{2, 3, 4}));
  EXPECT_EQ(arange(0, 2, 0.5).dtype(), DType::kF32);
  EXPECT_EQ(arange(3, DType::kU8).dtype(), DType::kU8);
  EXPECT_EQ(arange(0, -1).shape(), (Shape{0}));
  EXPECT_EQ(i(arange(3)), (Ints{0, 1, 2}));
  EXPECT_EQ(f(linspace(0, 1, 5)), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(f(linspace(0, 1, 4, false)), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(f(linspace(2, 3, 1)), (Floats{2}));
  const auto grid = meshgrid({arange(2), arange(3)});
  EXPECT_EQ(grid[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(i(grid[0]), (Ints{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(i(meshgrid({arange(2), arange(3)}, "ij")[0]), (Ints{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(rule_of([] { arange(0, 1, 0); }), "arange.step");
  EXPECT_EQ(rule_of([] { arange(0, 1, 0.5, DType::kI32); }), "arange.dtype");
  EXPECT_EQ(rule_of([] { arange(300, DType::kU8); }), "arange.range");
  EXPECT_EQ(rule_of([] { arange(-1, 2, 1, DType::kU8); }), "arange.range");
}

TEST(ArrayCreate, Filled) {
  EXPECT_EQ(f(zeros({2})), (Floats{0, 0}));
  EXPECT_EQ(i(ones({2, 1}, DType::kI32)), (Ints{1, 1}));
  const Tensor x = arange(2);
  EXPECT_EQ(i(full_like(x, 7)), (Ints{7, 7}));
  EXPECT_EQ(i(zeros_like(x)), (Ints{0, 0}));
  EXPECT_EQ(i(ones_like(x)), (Ints{1, 1}));
  EXPECT_EQ(rule_of([] { zeros({-1}); }), "type.c1");
  EXPECT_EQ(rule_of([] { ones({int64_t{1} << 40, int64_t{1} << 40}); }), "type.c2");
  EXPECT_EQ(rule_of([] { Tensor::of<float>({}, {int64_t{1} << 62, 4}); }), "type.c2");
  EXPECT_EQ(rule_of([] { Tensor::of<float>({1}, {-1, -1}); }), "type.c1");
  EXPECT_EQ(rule_of([] { Tensor::from_bytes({DType::kF32, {-4}}, nullptr); }), "type.c1");
  EXPECT_EQ(rule_of([] { zeros(Dims::filled(100000, 1)); }), "type.c3");
  EXPECT_EQ(rule_of([] { full({2}, 1.5, DType::kI32); }), "full.value");
  EXPECT_EQ(rule_of([] { full({2}, 300, DType::kI8); }), "full.value");
  EXPECT_EQ(rule_of([] { full({2}, std::nan(""), DType::kI32); }), "full.value");
  EXPECT_EQ(rule_of([] { pad(arange(2), {{1, 1}}, PadMode::kConstant, 0.5); }), "full.value");
  EXPECT_EQ(full({}, -128, DType::kI8).item<int8_t>(), -128);
}

TEST(ArrayCreate, Diagonals) {
  EXPECT_EQ(f(eye(2, 3, 1)), (Floats{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(f(tril(counting({3, 3}))), (Floats{0, 0, 0, 3, 4, 0, 6, 7, 8}));
  EXPECT_EQ(f(triu(counting({2, 3}), 1)), (Floats{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(f(diag(Tensor::of<float>({1, 2}), -1)), (Floats{0, 0, 0, 1, 0, 0, 0, 2, 0}));
  EXPECT_EQ(f(diag(counting({3, 4}))), (Floats{0, 5, 10}));
  EXPECT_EQ(f(diag(counting({3, 4}), 2)), (Floats{2, 7}));
  EXPECT_EQ(f(diag(counting({3, 4}), -1)), (Floats{4, 9}));
  EXPECT_EQ(diag(counting({3, 4}), 9).shape(), (Shape{0}));
}

TEST(ArrayShape, AxesComeGoAndMove) {
  const Tensor x = counting({1, 2, 1, 3});
  EXPECT_EQ(squeeze(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(x, -2).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(counting({2, 3}), {0, -1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(moveaxis(counting({2, 3, 4}), 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(counting({2, 3, 4}), {0, 1}, {2, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(swapaxes(counting({2, 3, 4}), 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(f(transpose(counting({2, 3}))), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(rule_of([&] { squeeze(x, 1); }), "squeeze.size");
  EXPECT_EQ(rule_of([&] { squeeze(x, 4); }), "squeeze.axis");
}

TEST(ArrayJoin, StackSplitTileRepeatFlipRoll) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(f(stack({x, x + 10}, -1)), (Floats{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15}));
  EXPECT_EQ(f(concat({x, x}, 1)), (Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(f(unstack(x, 1)[1]), (Floats{1, 4}));
  EXPECT_EQ(f(split(x, 3, 1)[2]), (Floats{2, 5}));
  EXPECT_EQ(f(split(x, {1, 2}, 1)[1]), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(split(x, {3}, 1).size(), 1u);
  EXPECT_EQ(f(tile(x, {2, 1})), (Floats{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(f(tile(Tensor::of<float>({1, 2}), {2, 2})), (Floats{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(f(repeat(x, 2, 0)), (Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(f(flip(x, 1)), (Floats{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(f(flip(x)), (Floats{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(f(roll(x, 1, 1)), (Floats{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(f(roll(x, -4, 1)), (Floats{1, 2, 0, 4, 5, 3}));
  EXPECT_EQ(rule_of([&] { split(x, 2, 1); }), "split.parts");
  EXPECT_EQ(rule_of([&] { split(x, {1, 1}, 1); }), "split.sizes");
}

TEST(ArrayPad, ModesAsInNumPy) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  EXPECT_EQ(f(pad(x, {{1, 2}}, PadMode::kConstant, 9)), (Floats{9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(f(pad(x, {{2, 1}}, PadMode::kEdge)), (Floats{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(f(pad(x, {{2, 3}}, PadMode::kReflect)), (Floats{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(f(pad(x, {{4, 2}}, PadMode::kSymmetric)), (Floats{3, 3, 2, 1, 1, 2, 3, 3, 2}));
  EXPECT_EQ(rule_of([&] { pad(x, {}); }), "pad.widths");
}

TEST(ArrayReduce, ValuesAxesAndKeepdims) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(sum(x).item<float>(), 15);
  EXPECT_EQ(f(sum(x, 0)), (Floats{3, 5, 7}));
  EXPECT_EQ(sum(x, -1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(sum(x, {0, 1}, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(f(sum(x, Dims{})), f(x));
  EXPECT_EQ(f(prod(x, 1)), (Floats{0, 60}));
  EXPECT_EQ(f(max(x, 1)), (Floats{2, 5}));
  EXPECT_EQ(f(min(x, 0)), (Floats{0, 1, 2}));
  EXPECT_EQ(f(mean(x, 1)), (Floats{1, 4}));
  EXPECT_FLOAT_EQ(var(x).item<float>(), 35.0f / 12);
  EXPECT_FLOAT_EQ(var(x, {}, false, 1).item<float>(), 3.5f);
  EXPECT_FLOAT_EQ(stddev(x).item<float>(), 1.7078251f);
  EXPECT_TRUE(any(x > 4).item<bool>());
  EXPECT_FALSE(all(x > 0).item<bool>());
  EXPECT_EQ(i(count_nonzero(x, 1)), (Ints{2, 3}));
  EXPECT_EQ(rule_of([&] { sum(x > 1); }), "sum.dtype");
  EXPECT_EQ(rule_of([&] { mean(arange(3)); }), "mean.dtype");
  EXPECT_EQ(rule_of([&] { sum(x, {0, -2}); }), "sum.axis");
}

TEST(ArrayReduce, LogsumexpAndNorms) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_FLOAT_EQ(logsumexp(Tensor::of<float>({1000, 1000})).item<float>(), 1000.6931f);
  EXPECT_EQ(logsumexp(Tensor::of<float>({-inf, -inf})).item<float>(), -inf);
  EXPECT_EQ(logsumexp(Tensor::of<float>({inf, 0})).item<float>(), inf);
  const Tensor x = Tensor::of<float>({3, -4});
  EXPECT_EQ(norm(x).item<float>(), 5);
  EXPECT_EQ(norm(x, 1).item<float>(), 7);
  EXPECT_EQ(norm(x, inf).item<float>(), 4);
  EXPECT_EQ(rule_of([&] { norm(x, 3); }), "norm.order");
}

TEST(ArrayReduce, HalvesAreSummedInF32) {
  const Tensor x = full({3000}, 100, DType::kF16);
  EXPECT_EQ(static_cast<float>(mean(x).item<Float16>()), 100);
}

TEST(ArrayContract, MatmulByNumPysRules) {
  const Tensor a = counting({2, 3}), b = counting({3, 2});
  EXPECT_EQ(f(matmul(a, b)), (Floats{10, 13, 28, 40}));
  EXPECT_EQ(f(matmul(Tensor::of<float>({1, 2, 3}), b)), (Floats{16, 22}));
  EXPECT_EQ(f(matmul(a, Tensor::of<float>({1, 2, 3}))), (Floats{8, 26}));
  EXPECT_EQ(matmul(Tensor::of<float>({1, 2}), Tensor::of<float>({3, 4})).item<float>(), 11);
  const Tensor batch = counting({2, 2, 3});
  EXPECT_EQ(f(matmul(batch, b)), (Floats{10, 13, 28, 40, 46, 67, 64, 94}));
  EXPECT_EQ(f(matmul(a, counting({2, 3, 1}))), (Floats{5, 14, 14, 50}));
  EXPECT_EQ(matmul(counting({4, 1, 2, 3}), counting({5, 3, 2})).shape(), (Shape{4, 5, 2, 2}));
  EXPECT_EQ(rule_of([&] { matmul(a, a); }), "matmul.k");
  EXPECT_EQ(rule_of([&] { matmul(a, Tensor::scalar(1.0f)); }), "matmul.rank");
  EXPECT_EQ(tensordot(a, a).item<float>(), 55);
  EXPECT_EQ(f(tensordot(a, b, 1)), (Floats{10, 13, 28, 40}));
  EXPECT_EQ(tensordot(a, counting({2, 3}), {1}, {1}).shape(), (Shape{2, 2}));
  EXPECT_EQ(f(outer(Tensor::of<float>({1, 2}), Tensor::of<float>({3, 4}))), (Floats{3, 4, 6, 8}));
}

TEST(ArrayEinsum, AnyString) {
  const Tensor a = counting({2, 3}), b = counting({3, 2}), s = counting({3, 3});
  EXPECT_EQ(f(einsum("ij,jk->ik", {a, b})), (Floats{10, 13, 28, 40}));
  EXPECT_EQ(f(einsum("ij,jk", {a, b})), (Floats{10, 13, 28, 40}));
  EXPECT_EQ(f(einsum("ij,jk->ki", {a, b})), (Floats{10, 28, 13, 40}));
  EXPECT_EQ(f(einsum("ii->i", {s})), (Floats{0, 4, 8}));
  EXPECT_EQ(einsum("ii", {s}).item<float>(), 12);
  EXPECT_EQ(f(einsum("ba", {a})), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(f(einsum("ij->j", {a})), (Floats{3, 5, 7}));
  EXPECT_EQ(einsum("i,i->", {counting({3}), counting({3})}).item<float>(), 5);
  EXPECT_EQ(f(einsum("i,j->ij", {counting({2}), counting({2}) + 1})), (Floats{0, 0, 1, 2}));
  EXPECT_EQ(f(einsum("ij,ij->i", {a, a})), (Floats{5, 50}));
  EXPECT_EQ(f(einsum("...ij->...ji", {counting({1, 2, 2})})), (Floats{0, 2, 1, 3}));
  EXPECT_EQ(einsum("b...i,...ij->b...j", {counting({2, 4, 3}), counting({4, 3, 5})}).shape(),
            (Shape{2, 4, 5}));
  // (0 1; 2 3) squared, times (1, 1).
  const Tensor m = counting({2, 2});
  EXPECT_EQ(f(einsum("ij,jk,k->i", {m, m, ones({2})})), (Floats{5, 17}));
  EXPECT_EQ(f(einsum("ij,ij->ij", {a, ones({1, 3})})), f(a));
  EXPECT_EQ(f(einsum("ij,ij->ij", {ones({1, 3}), a})), f(a));
  EXPECT_EQ(rule_of([&] { einsum("ij,jk->ik", {a}); }), "einsum.spec");
  EXPECT_EQ(rule_of([&] { einsum("i?->i", {a}); }), "einsum.spec");
  EXPECT_EQ(rule_of([&] { einsum("ij->ik", {a}); }), "einsum.spec");
  EXPECT_EQ(rule_of([&] { einsum("ijk->i", {a}); }), "einsum.rank");
  EXPECT_EQ(rule_of([&] { einsum("ij,ij->i", {a, b}); }), "einsum.size");
}

TEST(ArrayHost, ResultsThatDependOnValues) {
  const Tensor x = Tensor::of<float>({3, 0, 1, 3, 0, 3}, {2, 3});
  EXPECT_EQ(i(nonzero(x)[0]), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(i(nonzero(x)[1]), (Ints{0, 2, 0, 2}));
  EXPECT_EQ(f(boolean_mask(x, x > 0)), (Floats{3, 1, 3, 3}));
  EXPECT_EQ(f(boolean_mask(x, Tensor::of<bool>({true, false, true}), 1)), (Floats{3, 1, 3, 3}));
  EXPECT_EQ(boolean_mask(x, x > 9).shape(), (Shape{0}));
  const Unique u = unique(x);
  EXPECT_EQ(f(u.values), (Floats{0, 1, 3}));
  EXPECT_EQ(i(u.inverse), (Ints{2, 0, 1, 2, 0, 2}));
  EXPECT_EQ(i(u.counts), (Ints{2, 1, 3}));
}

TEST(ArrayHost, NaNIsOneValueAboveAllNumbers) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const Unique u = unique(Tensor::of<float>({kNaN, 1, kNaN, kInf, -kNaN}));
  const Floats values = f(u.values);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(Floats(values.begin(), values.end() - 1), (Floats{1, kInf}));
  EXPECT_TRUE(std::isnan(values.back()));
  EXPECT_EQ(i(u.inverse), (Ints{2, 0, 2, 1, 2}));
  EXPECT_EQ(i(u.counts), (Ints{1, 1, 3}));
}

TEST(ArrayHost, NeedsConcreteValues) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {3}});
  EXPECT_EQ(rule_of([&] { nonzero(x); }), "nonzero.traced");
  EXPECT_EQ(rule_of([&] { unique(x); }), "unique.traced");
  EXPECT_EQ(rule_of([&] { boolean_mask(x, x > 0); }), "boolean_mask.traced");
}

TEST(ArrayGradient, FlowsThroughReductionsAndContractions) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  const auto gradient = [&](auto function) {
    GradientTape tape;
    tape.watch(x);
    return f(tape.gradient(function(x), x));
  };
  EXPECT_EQ(gradient([](const Tensor& t) { return sum(t * t); }), (Floats{2, 4, 6}));
  EXPECT_EQ(gradient([](const Tensor& t) { return norm(t, 1); }), (Floats{1, 1, 1}));
  EXPECT_EQ(gradient([](const Tensor& t) { return einsum("i,i->", {t, t}); }), (Floats{2, 4, 6}));
  EXPECT_EQ(gradient([](const Tensor& t) {
              return sum(pad(t, {{2, 0}}, PadMode::kReflect));
            }),
            (Floats{1, 2, 2}));
  EXPECT_EQ(gradient([](const Tensor& t) { return sum(boolean_mask(t, t > 1)); }), (Floats{0, 1, 1}));
  // d var / dx = 2 (x - mean) / n.
  const Floats g = gradient([](const Tensor& t) { return var(t); });
  EXPECT_FLOAT_EQ(g[0], -2.0f / 3);
  EXPECT_FLOAT_EQ(g[1], 0);
  const Floats softmax_values = gradient([](const Tensor& t) { return logsumexp(t); });
  EXPECT_NEAR(softmax_values[2], 0.66524096, 1e-6);
}

TEST(ArrayElementwise, ZerosOfModHaveTheDivisorsSign) {
  using Doubles = std::vector<double>;
  const Tensor a = Tensor::of<double>({-1, 1, -3, 0, -0.0, 2.5, -2.5}),
               b = Tensor::of<double>({1, -1, 3, -2, 2, 2, 2});
  const Doubles got = mod(a, b).to_vector<double>();
  EXPECT_EQ(got, (Doubles{0, 0, 0, 0, 0, 0.5, 1.5}));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(std::signbit(got[i]), i == 1 || i == 3) << i;
  EXPECT_EQ(mod(Tensor::of<int32_t>({-4, 4, -5}), Tensor::of<int32_t>({2, -2, 2})).to_vector<int32_t>(),
            (std::vector<int32_t>{0, 0, 1}));
  GradientTape tape;
  tape.watch(a);
  EXPECT_EQ(tape.gradient(sum(mod(a, b)), a).to_vector<double>(), Doubles(7, 1));
}

TEST(ArrayContract, AxesOfOneOperandDoNotBroadcastInEinsum) {
  for (const char* spec : {"ii", "ii->i", "iij->j"}) {
    EXPECT_EQ(rule_of([&] {
                einsum(spec, {ones(std::string(spec)[2] == 'j' ? Shape{3, 1, 2} : Shape{3, 1})});
              }),
              "einsum.size")
        << spec;
    EXPECT_EQ(rule_of([&] {
                einsum(spec, {ones(std::string(spec)[2] == 'j' ? Shape{1, 3, 2} : Shape{1, 3})});
              }),
              "einsum.size")
        << spec;
  }
  EXPECT_EQ(einsum("ii", {ones({3, 3})}).item<float>(), 3);
  EXPECT_EQ(einsum("i,i->i", {ones({3}), ones({1})}).shape(), (Shape{3}));
}

TEST(ArrayReduce, NormsOfWhatIsLargeOrSmallAreExact) {
  for (const float size : {1e-30f, 1.0f, 1e30f}) {
    const Tensor x = Tensor::of<float>({3 * size, 4 * size, 0, 0}, {2, 2});
    EXPECT_FLOAT_EQ(norm(x).item<float>() / size, 5);
    EXPECT_FLOAT_EQ(f(norm(x, 2, {1}))[0] / size, 5);
    EXPECT_EQ(f(norm(x, 2, {1}))[1], 0);
    EXPECT_FLOAT_EQ(stddev(Tensor::of<float>({size, -size})).item<float>() / size, 1);
    GradientTape tape;
    tape.watch(x);
    const Floats g = f(tape.gradient(norm(x), x));
    EXPECT_FLOAT_EQ(g[0], 0.6f);
    EXPECT_FLOAT_EQ(g[1], 0.8f);
  }
  EXPECT_DOUBLE_EQ(norm(Tensor::of<double>({3e200, 4e200})).item<double>(), 5e200);
  const auto narrow_norm = [](float a, float b, DType dtype) {
    return convert(norm(convert(Tensor::of<float>({a, b}), dtype)), DType::kF32).item<float>();
  };
  EXPECT_EQ(narrow_norm(3 * 0x1p100f, 4 * 0x1p100f, DType::kBF16), 5 * 0x1p100f);
  EXPECT_EQ(narrow_norm(300, 400, DType::kF16), 500);
  // Scaling by powers of two leaves every bit as it was.
  const Tensor any = default_generator().normal({1000});
  EXPECT_EQ(norm(any).item<float>(), sqrt(reduce_sum(any * any, {0})).item<float>());
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(norm(Tensor::of<float>({1, -inf})).item<float>(), inf);
  EXPECT_TRUE(std::isnan(norm(Tensor::of<float>({1, std::nanf("")})).item<float>()));
  EXPECT_EQ(norm(zeros({0})).item<float>(), 0);
}

TEST(ArrayGradient, OnABoundIsZero) {
  const Tensor x = Tensor::of<float>({-1, 0, 0.5f, 6, 7});
  const auto gradient = [&](auto function) {
    GradientTape tape;
    tape.watch(x);
    return f(tape.gradient(sum(function(x)), x));
  };
  EXPECT_EQ(gradient([](const Tensor& t) { return clip(t, 0, 6); }), (Floats{0, 0, 1, 0, 0}));
  EXPECT_EQ(gradient([](const Tensor& t) { return clip(t, zeros({5}), 6); }), (Floats{0, 0, 1, 0, 0}));
  // Bounds may be larger than x, and cross.
  EXPECT_EQ(f(clip(full({}, 1), Tensor::of<float>({0, 2}), 3)), (Floats{1, 2}));
  const Tensor edges = reshape(Tensor::of<float>({4, 8}), {2, 1});
  EXPECT_EQ(f(clip(ones({2, 3}), Tensor::of<float>({0, 5, 9}), edges)), (Floats{1, 4, 4, 1, 5, 8}));
  EXPECT_EQ(f(clip(Tensor::of<float>({0, 9}), 5, 2)), (Floats{2, 2}));
}

TEST(ArrayTrace, TracedCallsGiveTheSameValues) {
  const auto compute = [](const Tensor& t) {
    return std::vector<Tensor>{sum(t, 0),
                               logsumexp(t, 1, true),
                               stddev(t),
                               einsum("ij,kj->ik", {t, t}),
                               matmul(t, transpose(t)),
                               pad(t, {{1, 1}, {0, 2}}, PadMode::kEdge),
                               index(t, {Slice{.step = -1}, Tensor::of<int32_t>({0, -1})}),
                               assign_at(t, {1}, 5),
                               tril(t, -1),
                               roll(t, 1, 0)};
  };
  const Tensor x = counting({2, 3}) * 0.5f;
  const auto traced = function(compute)(x);
  const auto eager = compute(x);
  ASSERT_EQ(traced.size(), eager.size());
  for (size_t k = 0; k < eager.size(); ++k) {
    EXPECT_EQ(traced[k].shape(), eager[k].shape()) << k;
    EXPECT_EQ(f(traced[k]), f(eager[k])) << k;
  }
}

TEST(ArrayElementwise, ScalarsThatADTypeDoesNotHoldAreRefused) {
  const Tensor x = Tensor::of<uint8_t>({1, 2});
  EXPECT_EQ(rule_of([&] { equal(x, 257); }), "operand.value");
  EXPECT_EQ(rule_of([&] { clip(x, -5, 200); }), "operand.value");
  EXPECT_EQ(rule_of([&] { x + 300; }), "operand.value");
  EXPECT_EQ(rule_of([&] { Tensor::of<int32_t>({1}) + 3000000000LL; }), "operand.value");
  EXPECT_EQ(rule_of([&] { Tensor::of<int64_t>({1}) + ~uint64_t{0}; }), "operand.value");
  EXPECT_EQ((Tensor::of<uint64_t>({1}) * ~uint64_t{0}).item<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ((Tensor::of<int8_t>({1}) * -128).item<int8_t>(), -128);
  EXPECT_EQ((Tensor::of<double>({1}) * ~uint64_t{0}).item<double>(), 0x1p64);
}

TEST(ArrayElementwise, ShortNamesAndAssignments) {
  Tensor x = Tensor::of<double>({0.25});
  const auto is = [](const Tensor& got, double wanted) { EXPECT_NEAR(got.item<double>(), wanted, 1e-15); };
  is(exp(x), std::exp(0.25));
  is(expm1(x), std::expm1(0.25));
  is(log1p(x), std::log1p(0.25));
  is(sin(x), std::sin(0.25));
  is(cos(x), std::cos(0.25));
  is(pow(x, 3), 1.0 / 64);
  is(sigmoid(x), 1 / (1 + std::exp(-0.25)));
  is(round(x * 10), 2);
  x += 1;
  x *= 4;
  x -= 1;
  x /= 2;
  is(x, 2);
}

TEST(ArrayErrors, OddRangesAndWidths) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Tensor x = Tensor::of<float>({1, 2, 3});
  EXPECT_EQ(rule_of([&] { pad(x, {{kMost, kMost}}, PadMode::kEdge); }), "pad.widths");
  EXPECT_EQ(rule_of([&] { diag(x, std::numeric_limits<int64_t>::min()); }), "diag.k");
  EXPECT_EQ(rule_of([&] { linspace(0, 1e39, 3); }), "linspace.range");
  EXPECT_EQ(rule_of([&] { index(x, {Tensor::scalar(false)}); }), "index.mask");
  EXPECT_EQ(rule_of([&] { index(x, {std::numeric_limits<uint64_t>::max()}); }), "index.range");
  EXPECT_EQ(rule_of([&] { argmax(zeros({300}), 0, DType::kI8); }), "argmax.c4");
  EXPECT_EQ(rule_of([&] { vmap([](const Tensor& t) { return t; }, {.in_axes = {0, 0}})(x); }), "vmap.axes");
  EXPECT_EQ(rule_of([&] { default_generator().uniform({3}, 5, 1); }), "random.range");
  EXPECT_EQ(rule_of([&] { default_generator().normal({3}, 0, -1); }), "random.deviation");
  EXPECT_EQ(norm(zeros({0}), std::numeric_limits<double>::infinity()).item<float>(), 0);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      floor_divide(Tensor::of<double>({-1, 1, -1, 1, 0}), Tensor::of<double>({inf, inf, -inf, -inf, inf}))
          .to_vector<double>(),
      (std::vector<double>{-1, 0, 0, -1, 0}));
}

TEST(ArrayElementwise, LogicAndSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor x = Tensor::of<float>({0, nan, inf, -inf, 1});
  const auto bools = [](const Tensor& t) { return convert(t, DType::kI32).to_vector<int32_t>(); };
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(bools(isnan(x)), (Ints{0, 1, 0, 0, 0}));
  EXPECT_EQ(bools(isinf(x)), (Ints{0, 0, 1, 1, 0}));
  EXPECT_EQ(bools(isinf(arange(2))), (Ints{0, 0}));
  const Tensor a = Tensor::of<float>({0, 0, 1, 1}) > 0, b = Tensor::of<float>({0, 1, 0, 1}) > 0;
  EXPECT_EQ(bools(logical_and(a, b)), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(bools(logical_or(a, b)), (Ints{0, 1, 1, 1}));
  EXPECT_EQ(bools(logical_xor(a, true)), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(bools(logical_not(a)), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(rule_of([&] { logical_and(x, a); }), "logical_and.dtype");
  EXPECT_EQ(rule_of([&] { greater(x, arange(5)); }), "compare.dtype");
  EXPECT_EQ(rule_of([&] { where(x > 0, x, arange(5)); }), "select.dtype");
  EXPECT_EQ(rule_of([&] { logical_not(arange(3)); }), "logical_not.dtype");
}

// Python's // and %, which NumPy shares.
TEST(ArrayElementwise, FloorDivisionFollowsTheSignOfTheDivisor) {
  const Tensor a = Tensor::of<int32_t>({7, -7, 7, -7, 6, 0}), b = Tensor::of<int32_t>({3, 3, -3, -3, -3, 5});
  EXPECT_EQ(floor_divide(a, b).to_vector<int32_t>(), (std::vector<int32_t>{2, -3, -3, 2, -2, 0}));
  EXPECT_EQ(mod(a, b).to_vector<int32_t>(), (std::vector<int32_t>{1, 2, -2, -1, 0, 0}));
  const Tensor x = Tensor::of<double>({1, -1, 7.5, -7.5, 1}), y = Tensor::of<double>({0.1, 0.1, -2, 2, 0});
  const auto q = floor_divide(x, y).to_vector<double>();
  EXPECT_EQ(std::vector<double>(q.begin(), q.end() - 1), (std::vector<double>{9, -10, -4, -4}));
  EXPECT_EQ(q.back(), std::numeric_limits<double>::infinity());
  const auto r = mod(x, y).to_vector<double>();
  EXPECT_NEAR(r[0], 0.1, 1e-15);
  EXPECT_NEAR(r[1], 0.0, 1e-15);
  EXPECT_EQ(r[2], -0.5);
  EXPECT_EQ(r[3], 0.5);
  EXPECT_EQ(floor_divide(Tensor::of<uint8_t>({250}), 100).to_vector<uint8_t>(), (std::vector<uint8_t>{2}));
}

TEST(ArrayOrder, ArgsortIsStableAndSorts) {
  const Tensor x = reshape(Tensor::of<float>({3, 1, 2, 1, 3, 0}), {2, 3});
  EXPECT_EQ(argsort(x).to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(argsort(x, 0).to_vector<int32_t>(), (std::vector<int32_t>{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(argsort(Tensor::of<int32_t>({1, 2, 1, 2}), 0, true).to_vector<int32_t>(),
            (std::vector<int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(f(take_along_axis(x, argsort(x), 1)), f(sort(x)));
}

TEST(ArrayElementwise, ChoiceAndComparison) {
  const Tensor x = Tensor::of<float>({-2, 0.5f, 3});
  EXPECT_EQ(f(clip(x, -1, 1)), (Floats{-1, 0.5f, 1}));
  EXPECT_EQ(f(where(x > 0, x, 0)), (Floats{0, 0.5f, 3}));
  EXPECT_EQ(count_nonzero(x <= 0.5f).item<int32_t>(), 2);
  EXPECT_EQ(count_nonzero(x < 0.5f).item<int32_t>(), 1);
  EXPECT_EQ(count_nonzero(x >= 0.5f).item<int32_t>(), 2);
  EXPECT_EQ(count_nonzero(equal(x, 3)).item<int32_t>(), 1);
  EXPECT_EQ(count_nonzero(not_equal(x, 3)).item<int32_t>(), 2);
}

}  // namespace
}  // namespace espalier
