#include "ir/graph.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "ir/builder.h"
#include "ir/dispatch.h"

namespace espalier {
namespace {

TEST(DType, NamesSizesAndKinds) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    EXPECT_EQ(parse_dtype(stablehlo_name(dtype)), dtype);
    EXPECT_EQ(to_string(dtype), to_string(TensorType{dtype, {}}).substr(0, to_string(dtype).size()));
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(sizeof(T), size_of(dtype));
      EXPECT_EQ(dtype_of<T>(), dtype);
    });
  }
  EXPECT_FALSE(parse_dtype("f8"));
  EXPECT_EQ(to_string(DType::kBF16), "bf16");
}

// The nearest of the two neighbours by exact arithmetic in double, ties to the even bits.
template <class Half>
void expect_nearest(double x) {
  const Half got(x);
  const auto value = [](uint16_t bits) {
    return static_cast<double>(static_cast<float>(Half::from_bits(bits)));
  };
  const double here = value(got.bits());
  for (const int step : {-1, 1}) {
    const auto bits = static_cast<uint16_t>(got.bits() + step);
    if ((bits & 0x7fff) == 0x7fff || (bits ^ got.bits()) & 0x8000) continue;
    const double other = value(bits);
    if (!std::isfinite(other) || !std::isfinite(here)) continue;
    EXPECT_LE(std::abs(here - x), std::abs(other - x)) << x;
    if (std::abs(here - x) == std::abs(other - x)) {
      EXPECT_EQ(got.bits() & 1, 0) << x;
    }
  }
}

TEST(DType, SixteenBitFloatsRoundToNearestEvenOnce) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = Float16::from_bits(static_cast<uint16_t>(bits));
    const auto brain = BFloat16::from_bits(static_cast<uint16_t>(bits));
    if (!std::isnan(static_cast<float>(half))) {
      EXPECT_EQ(Float16(static_cast<float>(half)).bits(), bits);
    }
    if (!std::isnan(static_cast<float>(brain))) {
      EXPECT_EQ(BFloat16(static_cast<float>(brain)).bits(), bits);
      EXPECT_EQ(BFloat16(static_cast<double>(static_cast<float>(brain))).bits(), bits);
    }
  }
  for (int i = 1; i < 4000; ++i) {
    const double x = std::ldexp(1 + i / 4096.0 + 1e-9 * i, i % 40 - 26);
    expect_nearest<Float16>(x);
    expect_nearest<Float16>(-x);
    expect_nearest<BFloat16>(x);
  }
  expect_nearest<Float16>(1 + 0x1p-11);
  expect_nearest<Float16>(1 + 3 * 0x1p-11);
  // Through float first, 1 + 2^-8 + 2^-40 would tie and fall to 1.
  EXPECT_EQ(static_cast<float>(BFloat16(1 + 0x1p-8 + 0x1p-40)), 1 + 0x1p-7f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.0))));
  EXPECT_EQ(static_cast<float>(Float16(65519.0)), 65504.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::nan("")))));
}

TEST(Literal, SplatsStaySplatsAndEqualTheirExpansion) {
  const TensorType huge{DType::kF64, {1 << 20, 1 << 20}};
  const Literal splat = Literal::splat(huge, 2.5);
  EXPECT_TRUE(splat.is_splat());
  EXPECT_EQ(splat.raw_bytes(), 8u);
  const Literal small = Literal::splat({DType::kI16, {3}}, int64_t{7}),
                dense = Literal::of<int16_t>({7, 7, 7});
  EXPECT_TRUE(small == dense);
  EXPECT_EQ(small.hash(), dense.hash());
  EXPECT_FALSE(small == Literal::of<int16_t>({7, 7, 8}));
  EXPECT_FALSE(small == Literal::of<int32_t>({7, 7, 7}));
}

TEST(Dims, GrowBeyondTheInlineStore) {
  Dims dims;
  for (int64_t i = 0; i < 20; ++i) dims.push_back(i);
  Dims copy = dims, moved = std::move(dims);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(copy.size(), 20u);
  copy.erase(3);
  copy.insert(0, 9);
  EXPECT_EQ(copy[0], 9);
  EXPECT_EQ(copy[4], 4);
  EXPECT_EQ(to_string(Dims{1, 2}), "[1,2]");
}

std::shared_ptr<Graph> sample(double factor) {
  GraphBuilder builder("sample");
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {2}});
  const Tensor w = builder.input(InputKind::kVariable, "w", {DType::kF32, {2}});
  builder.result("y", x * w + full({2}, factor));
  builder.output(OutputKind::kUpdate, "w", w - x);
  return builder.finish();
}

TEST(Graph, EqualityAndHashFollowTheContent) {
  const auto a = sample(1), b = sample(1), c = sample(2);
  a->verify();
  EXPECT_TRUE(*a == *b);
  EXPECT_EQ(a->content_hash(), b->content_hash());
  EXPECT_FALSE(*a == *c);
  EXPECT_NE(a->content_hash(), c->content_hash());
  EXPECT_LE(sizeof(Node), 96u);
}

TEST(Graph, InputsStandFirstWhereverTheyWereDeclared) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {}});
  const Tensor y = x * 2;
  builder.result("z", y + builder.argument("late", {DType::kF32, {}}));
  const auto graph = builder.finish();
  graph->verify();
  ASSERT_EQ(graph->inputs().size(), 2u);
  EXPECT_EQ(graph->inputs()[1].name, "late");
  EXPECT_EQ(graph->inputs()[1].value, 1u);
}

TEST(Graph, VerifyFindsAVariableThatIsUpdatedTwice) {
  Graph graph;
  const ValueId w = graph.add_input(InputKind::kVariable, "w", {DType::kF32, {}});
  graph.add_output(OutputKind::kUpdate, "w", w);
  EXPECT_NO_THROW(graph.verify());
  graph.add_output(OutputKind::kUpdate, "w", w);
  EXPECT_THROW(graph.verify(), InternalError);
}

TEST(Graph, SizesThatOverflowAreRefused) {
  Graph graph;
  const int64_t big = int64_t{1} << 40;
  EXPECT_THROW(graph.add_input(InputKind::kArgument, "x", {DType::kF32, {big, big}}), ShapeError);
  EXPECT_THROW(graph.add_input(InputKind::kArgument, "x", {DType::kF32, {-1}}), ShapeError);
}

TEST(Errors, NameRuleValuesPathAndTheUsersLine) {
  const Tensor a = Tensor::of({1.0f, 2.0f}), b = Tensor::of({1.0f, 2.0f, 3.0f});
  NameScope outer("encoder"), inner("dense_1");
  const auto line = Location::here().line + 2;
  try {
    a + b;
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        cat("ShapeError[add.broadcast] at graph_test.cc:", line,
            ", encoder/dense_1\n  shapes must agree or be 1 from the last axis on: [2] and [3] (2 vs 3)"));
  }
}

TEST(Errors, UnknownWordsGetTheNearestKnownOnes) {
  EXPECT_EQ(nearest("adamv", {"adam", "adamw", "sgd", "lion"}), (std::vector<std::string>{"adam", "adamw"}));
  EXPECT_TRUE(nearest("zzz", {"adam"}).empty());
  EXPECT_EQ(nearest("rnu", {"run", "if"}), std::vector<std::string>{"run"});
  EXPECT_EQ(nearest("ID", {"id", "ab"}), std::vector<std::string>{"id"});
  EXPECT_TRUE(nearest("nix", {"if"}).empty());
  EXPECT_EQ(nearest(std::string(256, 'a'), {std::string(255, 'a')}).size(), 1u);
  EXPECT_TRUE(nearest(std::string(257, 'a'), {std::string(255, 'a')}).empty());
}

}  // namespace
}  // namespace espalier
