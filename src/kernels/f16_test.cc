// f16 through f32: conversions, tiles and kernels of every instruction set, against Float16 and the reference
// bodies.
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/difference_test.h"
#include "kernels/isas_test.h"
#include "kernels/loops.h"
#include "kernels/run_kernel_test.h"
#include "kernels/tile.h"
#include "ops/call.h"
#include "ops/dot_general.h"
#include "ops/registry.h"

namespace espalier {
namespace {

constexpr int64_t kPatterns = 65536;

const LoopTable& f16_loops(Isa isa) { return ESPALIER_BY_ISA(loop_table, isa); }

// Every f16 once, in an order that `seed` gives; 0: by its bits.
Literal every_f16(unsigned seed) {
  std::vector<uint16_t> bits(kPatterns);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  if (seed) std::shuffle(bits.begin(), bits.end(), std::mt19937(seed));
  return Literal::copy({DType::kF16, {kPatterns}}, bits.data());
}

std::vector<uint16_t> round_by(Isa isa, const std::vector<float>& x) {
  std::vector<uint16_t> out(x.size());
  f16_loops(isa).f16.round(x.data(), reinterpret_cast<F16*>(out.data()), static_cast<int64_t>(x.size()));
  return out;
}

bool is_nan(uint16_t half) { return (half & 0x7fff) > 0x7c00; }

TEST(F16, EveryValueIsWidenedAndComesBack) {
  const Literal all = every_f16(0);
  for (const Isa isa : available_isas()) {
    // By the mode of the library, and by that of any other program.
    for (const bool flushed : {true, false}) {
      std::optional<FloatEnvironment> mode;
      if (flushed) mode.emplace();
      std::vector<float> wide(kPatterns);
      f16_loops(isa).f16.widen(static_cast<const F16*>(all.raw()), wide.data(), kPatterns);
      const std::vector<uint16_t> back = round_by(isa, wide);
      for (uint32_t bits = 0; bits < kPatterns; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        auto wanted = std::bit_cast<uint32_t>(static_cast<float>(Float16::from_bits(half)));
        if (is_nan(half)) wanted |= 0x400000;  // quiet
        ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]), wanted) << name(isa) << " " << bits;
        ASSERT_EQ(back[bits], is_nan(half) ? half | 0x200 : half) << name(isa);
      }
    }
  }
}

TEST(F16, RoundingIsToNearestEven) {
  struct Case {
    float x;
    uint16_t wanted;
  };
  std::vector<Case> cases = {{65504.0f, 0x7bff},   {65519.996f, 0x7bff},      {65520.0f, 0x7c00},
                             {65536.0f, 0x7c00},   {3e38f, 0x7c00},           {INFINITY, 0x7c00},
                             {0x1p-25f, 0x0000},   {0x1.000002p-25f, 0x0001}, {0x1.8p-24f, 0x0002},
                             {0x1p-26f, 0x0000},   {1e-40f, 0x0000},          {0.0f, 0x0000},
                             {0x1p-14f, 0x0400},   {0x1.ffep-15f, 0x0400},    {1.0f, 0x3c00},
                             {0x1.002p0f, 0x3c00}, {0x1.006p0f, 0x3c02},      {0x1.ffep0f, 0x4000}};
  // Halfway between neighbours, and the f32 beside that.
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    const float low = Float16::from_bits(half), high = Float16::from_bits(static_cast<uint16_t>(half + 1)),
                middle = (low + high) / 2;
    cases.push_back({middle, static_cast<uint16_t>(half + (half & 1))});
    cases.push_back({std::nextafterf(middle, low), half});
    cases.push_back({std::nextafterf(middle, high), static_cast<uint16_t>(half + 1)});
  }
  std::vector<float> x;
  for (const Case& c : cases) x.insert(x.end(), {c.x, -c.x});
  for (const Isa isa : available_isas()) {
    for (const bool flushed : {true, false}) {
      std::optional<FloatEnvironment> mode;
      if (flushed) mode.emplace();
      const std::vector<uint16_t> got = round_by(isa, x);
      for (size_t i = 0; i < cases.size(); ++i) {
        ASSERT_EQ(got[2 * i], cases[i].wanted) << name(isa) << " " << cases[i].x;
        ASSERT_EQ(got[2 * i + 1], cases[i].wanted | 0x8000) << name(isa) << " " << -cases[i].x;
      }
    }
  }
}

// A million f32 of every exponent, NaN among them.
TEST(F16, RoundingIsThatOfItsType) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const Isa isa : available_isas()) {
    const std::vector<uint16_t> got = round_by(isa, x);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        const uint32_t bits = std::bit_cast<uint32_t>(x[i]);
        ASSERT_EQ(got[i], (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff)) << name(isa);
      } else {
        ASSERT_EQ(got[i], Float16(x[i]).bits()) << name(isa) << " " << x[i];
      }
    }
  }
}

TEST(F16, ArraysOfAnyLengthEndWhereTheyShould) {
  const Literal some = random_literal({DType::kF16, {80}}, 1, true);
  const auto* from = static_cast<const F16*>(some.raw());
  for (const Isa isa : available_isas()) {
    for (int64_t n = 0; n < 70; ++n) {
      std::vector<float> wide(80, 7.0f);
      f16_loops(isa).f16.widen(from + 3, wide.data(), n);
      EXPECT_EQ(std::count(wide.begin() + n, wide.end(), 7.0f), 80 - n) << name(isa) << " " << n;
      std::vector<uint16_t> back(80, 7);
      f16_loops(isa).f16.round(wide.data(), reinterpret_cast<F16*>(back.data()), n);
      EXPECT_EQ(std::count(back.begin() + n, back.end(), 7), 80 - n) << name(isa) << " " << n;
      EXPECT_EQ(std::memcmp(back.data(), from + 3, static_cast<size_t>(n) * 2), 0) << name(isa) << " " << n;
    }
  }
}

// `entry` of every instruction set against the reference body of `op`.
void expect_tiles_of(const char* op, TileFunction TileTable::*entry, std::span<const Literal> inputs) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const Literal& input : inputs) arguments.push_back(builder.argument("x", input.type()));
    builder.result("y", emit_all(*find_op(op), nullptr, arguments)[0]);
  }
  const Literal wanted = interpret(*builder.finish(), inputs, RunContext::current())[0];
  const FloatEnvironment mode;
  for (const Isa isa : available_isas()) {
    // In place, on no whole number of tiles or vectors: what is behind them stays.
    const int64_t n = kPatterns - 3;
    Buffer buffer = allocate_buffer(wanted.type().bytes());
    std::memcpy(buffer.get(), wanted.raw(), wanted.type().bytes());
    std::memcpy(buffer.get(), inputs[0].raw(), static_cast<size_t>(n) * sizeof(F16));
    const void* right = inputs.size() > 1 ? inputs[1].raw() : nullptr;
    (tile_table(isa).*entry)(buffer.get(), buffer.get(), right, nullptr, n);
    EXPECT_EQ(difference(wanted, Literal(wanted.type(), buffer)), "") << op << " " << name(isa);
  }
}

TEST(F16, TilesGiveTheReferenceBodysBitsForEveryValue) {
  const Literal x = every_f16(0);
  using T = TileTable;
  const std::pair<const char*, TileFunction T::*> kUnary[] = {
      {"negate", &T::negate_f16}, {"abs", &T::abs_f16},           {"sqrt", &T::sqrt_f16},
      {"relu", &T::relu_f16},     {"rsqrt", &T::rsqrt_f16},       {"exponential", &T::exp_f16},
      {"tanh", &T::tanh_f16},     {"logistic", &T::logistic_f16}, {"tanh_slope", &T::tanh_slope_f16}};
  for (const auto& [op, entry] : kUnary) expect_tiles_of(op, entry, {&x, 1});
  const std::pair<const char*, TileFunction T::*> kBinary[] = {{"add", &T::add_f16},
                                                               {"subtract", &T::subtract_f16},
                                                               {"multiply", &T::multiply_f16},
                                                               {"divide", &T::divide_f16},
                                                               {"maximum", &T::maximum_f16},
                                                               {"minimum", &T::minimum_f16},
                                                               {"relu_gradient", &T::relu_gradient_f16}};
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Literal pair[] = {x, every_f16(seed)};
    for (const auto& [op, entry] : kBinary) expect_tiles_of(op, entry, pair);
  }
  // The same value on both sides: ties.
  const Literal same[] = {x, x};
  for (const auto& [op, entry] : kBinary) expect_tiles_of(op, entry, same);
}

// Ops of attributes, and conversions: as find_tile chooses them.
TEST(F16, ComparisonsAndConversionsAreTheReferenceBodys) {
  const Literal x = every_f16(0), y = every_f16(3);
  const TensorType type = x.type();
  std::vector<float> wide;
  for (uint64_t i = 0; i < kPatterns; ++i)
    wide.push_back(std::bit_cast<float>(static_cast<uint32_t>(i * 65521)));
  const Literal f32 = Literal::copy({DType::kF32, type.shape}, wide.data());
  const Literal truth = random_literal({DType::kBool, type.shape}, 2, false);
  int found = 0;
  const auto check = [&](std::vector<Literal> inputs, auto call) {
    GraphBuilder builder;
    {
      SinkScope scope(builder);
      std::vector<Tensor> arguments;
      for (const Literal& input : inputs) arguments.push_back(builder.argument("x", input.type()));
      builder.result("y", call(arguments));
    }
    const auto graph = builder.finish();
    const Node& node = graph->nodes()[0];
    const Literal wanted = interpret(*graph, inputs, RunContext::current())[0];
    std::vector<DType> dtypes;
    for (const Literal& input : inputs) dtypes.push_back(input.type().dtype);
    const TileFunction tile = find_tile(*node.op, node.attributes.get(), dtypes, wanted.type().dtype);
    ASSERT_TRUE(tile) << node.op->name << cat(" ", wanted.type());
    ++found;
    Buffer buffer = allocate_buffer(wanted.type().bytes());
    const auto raw = [&](size_t i) { return i < inputs.size() ? inputs[i].raw() : nullptr; };
    const FloatEnvironment mode;
    tile(buffer.get(), raw(0), raw(1), raw(2), kPatterns);
    EXPECT_EQ(difference(wanted, Literal(wanted.type(), buffer)), "")
        << node.op->name << cat(" ", wanted.type());
  };
  using enum Comparison;
  for (const Comparison by : {kEQ, kNE, kGE, kGT, kLE, kLT}) {
    check({x, y}, [&](const auto& v) { return compare(v[0], v[1], by); });
    check({x, x}, [&](const auto& v) { return compare(v[0], v[1], by); });
  }
  check({f32}, [](const auto& v) { return convert(v[0], DType::kF16); });
  check({x}, [](const auto& v) { return convert(v[0], DType::kF32); });
  check({truth}, [](const auto& v) { return convert(v[0], DType::kF16); });
  check({truth, x, y}, [](const auto& v) { return select(v[0], v[1], v[2]); });
  check({x}, [](const auto& v) { return gelu(v[0], true); });
  EXPECT_EQ(found, 17);
}

// Within the bound of docs/numerics.md of the sum in f64, and infinite where that is beyond f16.
TEST(F16, ProductsAreWithinTheBoundOfAnExactSum) {
  const int64_t shapes[][3] = {{1, 1, 1}, {7, 33, 5}, {64, 300, 70}, {130, 700, 129}, {3, 0, 4}};
  for (const auto& [rows, depth, columns] : shapes) {
    for (const DType result : {DType::kF16, DType::kF32}) {
      const TensorType a{DType::kF16, {rows, depth}}, b{DType::kF16, {depth, columns}};
      GraphBuilder builder;
      {
        SinkScope scope(builder);
        DotAxes axes{.lhs_contracting = {1}, .rhs_contracting = {0}};
        builder.result("y", dot_general(builder.argument("a", a), builder.argument("b", b), axes, result));
      }
      const auto graph = builder.finish();
      std::vector<Literal> inputs{random_literal(a, 1, false), random_literal(b, 2, false)};
      // The first row has sums beyond the largest f16.
      const auto half = [](const Literal& x, int64_t i) {
        return static_cast<double>(static_cast<float>(x.view().as<Float16>()[i]));
      };
      Buffer large = allocate_buffer(a.bytes());
      for (int64_t i = 0; i < rows * depth; ++i)
        reinterpret_cast<Float16*>(large.get())[i] = Float16(half(inputs[0], i) * (i < depth ? 16384 : 1));
      inputs[0] = Literal(a, large);
      const auto got = run_kernel(*graph, inputs);
      ASSERT_EQ(got.size(), 1u);
      int infinite = 0;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < depth; ++k) {
            const double term = half(inputs[0], i * depth + k) * half(inputs[1], k * columns + j);
            sum += term;
            size += std::fabs(term);
          }
          const double in_f32 = 1.01 * static_cast<double>(depth + 1) * 0x1p-24 * size;
          const double y = load_scalar(
              result, static_cast<const std::byte*>(got[0].raw()) + (i * columns + j) * size_of(result));
          if (result == DType::kF16 && std::isinf(y)) {
            ++infinite;
            ASSERT_GE(std::fabs(sum) + in_f32, 65520) << i << " " << j;
            continue;
          }
          const double rounding =
              result == DType::kF16 ? std::max(0x1p-11 * (std::fabs(sum) + in_f32), 0x1p-25) : 0;
          ASSERT_LE(std::fabs(y - sum), in_f32 + rounding) << i << " " << j;
        }
      }
      EXPECT_EQ(infinite > 0, result == DType::kF16 && depth > 1) << depth;
    }
  }
}

}  // namespace
}  // namespace espalier
