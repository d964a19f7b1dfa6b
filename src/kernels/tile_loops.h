// The bodies of the tile loops, compiled once for each instruction set: included by tile_<isa>.cc alone.
#pragma once

#include "base/elementary.h"
#include "kernels/lanes.h"
#include "kernels/select_larger.h"
#include "kernels/tile.h"

namespace espalier {
namespace {

template <class Out, class In, class F>
inline void loop(void* out, const void* a, const void* b, int64_t n, F f) {
  auto* o = static_cast<Out*>(out);
  const auto *x = static_cast<const In*>(a), *y = static_cast<const In*>(b);
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) o[i] = f(x[i], y[i]);
}

template <class Out, class In, class F>
inline void loop(void* out, const void* a, int64_t n, F f) {
  auto* o = static_cast<Out*>(out);
  const auto* x = static_cast<const In*>(a);
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) o[i] = f(x[i]);
}

#define ESPALIER_BINARY(name, Out, In, expression)                                        \
  void name(void* out, const void* a, const void* b, const void*, int64_t n) {            \
    loop<Out, In>(out, a, b, n, [](In x, In y) { return static_cast<Out>(expression); }); \
  }
#define ESPALIER_UNARY(name, Out, In, expression)                                \
  void name(void* out, const void* a, const void*, const void*, int64_t n) {     \
    loop<Out, In>(out, a, n, [](In x) { return static_cast<Out>(expression); }); \
  }

inline uint32_t wide(int32_t x) { return static_cast<uint32_t>(x); }

ESPALIER_BINARY(add_f32, float, float, x + y)
ESPALIER_BINARY(subtract_f32, float, float, x - y)
ESPALIER_BINARY(multiply_f32, float, float, x* y)
ESPALIER_BINARY(divide_f32, float, float, x / y)
ESPALIER_BINARY(maximum_f32, float, float, larger(x, y))
ESPALIER_BINARY(minimum_f32, float, float, smaller(x, y))
ESPALIER_UNARY(negate_f32, float, float, float_of(bits_of(x) ^ INT32_MIN))
ESPALIER_UNARY(abs_f32, float, float, float_of(bits_of(x) & INT32_MAX))
ESPALIER_UNARY(sqrt_f32, float, float, __builtin_sqrtf(x))
ESPALIER_UNARY(relu_f32, float, float, x <= 0 ? 0.0f : x)
ESPALIER_BINARY(relu_gradient_f32, float, float, x > 0 ? y : 0.0f)
ESPALIER_UNARY(exp_f32, float, float, elementary_exp(x))
ESPALIER_UNARY(tanh_f32, float, float, elementary_tanh(x))
ESPALIER_UNARY(logistic_f32, float, float, elementary_logistic(x))
ESPALIER_UNARY(tanh_slope_f32, float, float, elementary_tanh_slope(x))
ESPALIER_UNARY(rsqrt_f32, float, float, 1 / __builtin_sqrtf(x))
ESPALIER_UNARY(gelu_by_tanh_f32, float, float, elementary_gelu_by_tanh(x))
ESPALIER_BINARY(eq_f32, bool, float, x == y)
ESPALIER_BINARY(ne_f32, bool, float, x != y)
ESPALIER_BINARY(ge_f32, bool, float, x >= y)
ESPALIER_BINARY(gt_f32, bool, float, x > y)
ESPALIER_BINARY(le_f32, bool, float, x <= y)
ESPALIER_BINARY(lt_f32, bool, float, x < y)
ESPALIER_BINARY(add_i32, int32_t, int32_t, wide(x) + wide(y))
ESPALIER_BINARY(subtract_i32, int32_t, int32_t, wide(x) - wide(y))
ESPALIER_BINARY(multiply_i32, int32_t, int32_t, wide(x) * wide(y))
ESPALIER_BINARY(add_i64, int64_t, int64_t, static_cast<uint64_t>(x) + static_cast<uint64_t>(y))
ESPALIER_BINARY(add_f64, double, double, x + y)
ESPALIER_UNARY(f32_to_f64, double, float, x)
ESPALIER_BINARY(eq_i32, bool, int32_t, x == y)
ESPALIER_BINARY(ne_i32, bool, int32_t, x != y)
ESPALIER_BINARY(ge_i32, bool, int32_t, x >= y)
ESPALIER_BINARY(gt_i32, bool, int32_t, x > y)
ESPALIER_BINARY(le_i32, bool, int32_t, x <= y)
ESPALIER_BINARY(lt_i32, bool, int32_t, x < y)
ESPALIER_BINARY(and_bool, bool, uint8_t, (x & y) != 0)
ESPALIER_BINARY(or_bool, bool, uint8_t, (x | y) != 0)
ESPALIER_UNARY(not_bool, bool, uint8_t, x == 0)
ESPALIER_UNARY(bool_to_f32, float, uint8_t, static_cast<float>(x != 0))
ESPALIER_UNARY(i32_to_f32, float, int32_t, static_cast<float>(x))

// Of bf16: computed in f32, rounded once.
#if defined(__AVX512BF16__)
// By the processor, which takes subnormal numbers as zero: arithmetic has made them zero already.
template <class F>
inline void round_each(void* out, const void* a, const void* b, int64_t n, F f) {
  using L = Lanes<16>;
  auto* o = static_cast<Bf16*>(out);
  const auto *x = static_cast<const Bf16*>(a), *y = static_cast<const Bf16*>(b);
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const auto low = f(load_floats<L>(x + i), load_floats<L>(y + i)),
               high = f(load_floats<L>(x + i + 16), load_floats<L>(y + i + 16));
    store_as(_mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low)), o + i);
  }
  for (; i < n; ++i) store_number(f(number_of(x[i]), number_of(y[i])), o + i);
}
#else
template <class F>
inline void round_each(void* out, const void* a, const void* b, int64_t n, F f) {
  loop<uint16_t, uint16_t>(out, a, b, n,
                           [f](uint16_t x, uint16_t y) { return to_bf16(f(from_bf16(x), from_bf16(y))); });
}
#endif
#define ESPALIER_BF16_ARITHMETIC(name, operation)                                     \
  void name##_bf16(void* out, const void* a, const void* b, const void*, int64_t n) { \
    round_each(out, a, b, n, [](auto x, auto y) { return x operation y; });           \
  }
#define ESPALIER_BF16_BINARY(name, expression)                                        \
  void name##_bf16(void* out, const void* a, const void* b, const void*, int64_t n) { \
    loop<uint16_t, uint16_t>(out, a, b, n, [](uint16_t p, uint16_t q) {               \
      const float x = from_bf16(p), y = from_bf16(q);                                 \
      return to_bf16(expression);                                                     \
    });                                                                               \
  }
#define ESPALIER_BF16_UNARY(name, expression)                                       \
  void name##_bf16(void* out, const void* a, const void*, const void*, int64_t n) { \
    loop<uint16_t, uint16_t>(out, a, n, [](uint16_t p) {                            \
      const float x = from_bf16(p);                                                 \
      return to_bf16(expression);                                                   \
    });                                                                             \
  }
#define ESPALIER_BF16_COMPARE(name, operation)                                                        \
  void name##_bf16(void* out, const void* a, const void* b, const void*, int64_t n) {                 \
    loop<bool, uint16_t>(out, a, b, n,                                                                \
                         [](uint16_t p, uint16_t q) { return from_bf16(p) operation from_bf16(q); }); \
  }

ESPALIER_BF16_ARITHMETIC(add, +)
ESPALIER_BF16_ARITHMETIC(subtract, -)
ESPALIER_BF16_ARITHMETIC(multiply, *)
ESPALIER_BF16_ARITHMETIC(divide, /)
ESPALIER_BF16_BINARY(maximum, larger(x, y))
ESPALIER_BF16_BINARY(minimum, smaller(x, y))
ESPALIER_BF16_UNARY(negate, float_of(bits_of(x) ^ INT32_MIN))
ESPALIER_BF16_UNARY(abs, float_of(bits_of(x) & INT32_MAX))
ESPALIER_BF16_UNARY(sqrt, __builtin_sqrtf(x))
// Subnormal numbers are zeros, and a NaN is quietened as rounding does.
ESPALIER_UNARY(relu_bf16, uint16_t, uint16_t,
               (x & 0x7fff) > 0x7f80             ? x | 0x40
               : static_cast<int16_t>(x) >= 0x80 ? x
                                                 : 0)
ESPALIER_BINARY(relu_gradient_bf16, uint16_t, uint16_t, static_cast<uint16_t>(x - 0x80) <= 0x7f00 ? y : 0)
ESPALIER_BF16_UNARY(exp, elementary_exp(x))
ESPALIER_BF16_UNARY(tanh, elementary_tanh(x))
ESPALIER_BF16_UNARY(logistic, elementary_logistic(x))
ESPALIER_BF16_UNARY(tanh_slope, elementary_tanh_slope(x))
ESPALIER_BF16_UNARY(rsqrt, 1 / __builtin_sqrtf(x))
ESPALIER_BF16_UNARY(gelu_by_tanh, elementary_gelu_by_tanh(x))
ESPALIER_BF16_COMPARE(eq, ==)
ESPALIER_BF16_COMPARE(ne, !=)
ESPALIER_BF16_COMPARE(ge, >=)
ESPALIER_BF16_COMPARE(gt, >)
ESPALIER_BF16_COMPARE(le, <=)
ESPALIER_BF16_COMPARE(lt, <)
ESPALIER_UNARY(f32_to_bf16, uint16_t, float, to_bf16(x))
ESPALIER_UNARY(bf16_to_f32, float, uint16_t, from_bf16(x))
ESPALIER_UNARY(bool_to_bf16, uint16_t, uint8_t, x != 0 ? 0x3f80 : 0)

// Of f16: a tile is widened, the op computed in f32 and rounded once; of a comparison the result is bool.
template <TileFunction kOp, class Out = F16>
void by_f32(void* out, const void* a, const void* b, const void*, int64_t n) {
  alignas(64) float x[kTile], y[kTile];
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t count = n - i < kTile ? n - i : kTile;
    widen_array(static_cast<const F16*>(a) + i, x, count);
    if (b) widen_array(static_cast<const F16*>(b) + i, y, count);
    Out* const to = static_cast<Out*>(out) + i;
    if constexpr (std::is_same_v<Out, bool>) {
      kOp(to, x, y, nullptr, count);
    } else {
      kOp(x, x, y, nullptr, count);
      round_array(x, to, count);
    }
  }
}
constexpr TileFunction add_f16 = by_f32<add_f32>, subtract_f16 = by_f32<subtract_f32>,
                       multiply_f16 = by_f32<multiply_f32>, divide_f16 = by_f32<divide_f32>,
                       maximum_f16 = by_f32<maximum_f32>, minimum_f16 = by_f32<minimum_f32>,
                       negate_f16 = by_f32<negate_f32>, abs_f16 = by_f32<abs_f32>,
                       sqrt_f16 = by_f32<sqrt_f32>, relu_f16 = by_f32<relu_f32>,
                       relu_gradient_f16 = by_f32<relu_gradient_f32>, exp_f16 = by_f32<exp_f32>,
                       tanh_f16 = by_f32<tanh_f32>, logistic_f16 = by_f32<logistic_f32>,
                       tanh_slope_f16 = by_f32<tanh_slope_f32>, rsqrt_f16 = by_f32<rsqrt_f32>,
                       gelu_by_tanh_f16 = by_f32<gelu_by_tanh_f32>;
constexpr TileFunction eq_f16 = by_f32<eq_f32, bool>, ne_f16 = by_f32<ne_f32, bool>,
                       ge_f16 = by_f32<ge_f32, bool>, gt_f16 = by_f32<gt_f32, bool>,
                       le_f16 = by_f32<le_f32, bool>, lt_f16 = by_f32<lt_f32, bool>;
void f32_to_f16(void* out, const void* a, const void*, const void*, int64_t n) {
  round_array(static_cast<const float*>(a), static_cast<F16*>(out), n);
}
void f16_to_f32(void* out, const void* a, const void*, const void*, int64_t n) {
  widen_array(static_cast<const F16*>(a), static_cast<float*>(out), n);
}
ESPALIER_UNARY(bool_to_f16, uint16_t, uint8_t, x != 0 ? 0x3c00 : 0)

template <class Word>
void select_words(void* out, const void* a, const void* b, const void* c, int64_t n) {
  auto* o = static_cast<Word*>(out);
  const auto* p = static_cast<const uint8_t*>(a);
  const auto *x = static_cast<const Word*>(b), *y = static_cast<const Word*>(c);
  ESPALIER_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const Word on_true = x[i], on_false = y[i];
    o[i] = p[i] ? on_true : on_false;
  }
}
constexpr TileFunction select_32 = select_words<uint32_t>, select_16 = select_words<uint16_t>;

constexpr TileTable kTable = {
#define X(name) name,
    ESPALIER_TILE_OPS(X)
#undef X
};

}  // namespace
}  // namespace espalier
