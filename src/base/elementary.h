// Elementary functions of f32 without branches, tables or contraction: the same bits from one call and from a
// loop that a compiler vectorises for any instruction set. Everything is local to the file that includes it.
// Bounds: docs/numerics.md.
#pragma once

#include <cmath>
#include <cstdint>

namespace espalier {
namespace {

// bf16 is the upper half of f32; rounding to it is to nearest even, and NaN stays.
inline float from_bf16(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
inline uint16_t to_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>(x != x ? quiet : nearest);
}

// f16 has 10 bits of fraction and exponents biased by 15; f32 has 23 and 127. Both ways are for one number or
// for a vector of them: bits of f16 are the lower half of 32. NaN keeps what it can of its payload and is
// quiet, as by the processor's own instructions. No step of them meets a subnormal number of f32 that counts:
// the mode of the floating-point unit may take those as zero.
template <class Float, class Bits>
inline Float widen_f16(Bits half) {
  const Bits sign = (half & 0x8000u) << 16, size = (half & 0x7fffu) << 13;
  constexpr uint32_t kRebase = (127u - 15u) << 23, kSpecial = 31u << 23, kLeast = 1u << 23;
  // Subnormal: 2^-14 (1 + fraction), less 2^-14.
  const Float small = __builtin_bit_cast(Float, size + (kRebase + kLeast)) - 0x1p-14f;
  const Bits quiet = size > kSpecial ? Bits{} + 0x400000u : Bits{};
  const Bits normal = size + kRebase, special = (size + 2 * kRebase) | quiet;
  const Bits number = size < kLeast ? __builtin_bit_cast(Bits, small) : normal;
  return __builtin_bit_cast(Float, sign | (size >= kSpecial ? special : number));
}
// To nearest even; from 65520 on it is infinity.
template <class Bits, class Float>
inline Bits round_f16(Float x) {
  const Bits bits = __builtin_bit_cast(Bits, x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  constexpr uint32_t kRebase = (127u - 15u) << 23, kLeast = 113u << 23, kInfinite = 143u << 23;
  // Below 2^-14: the last place of 1/2 + x is 2^-24, that of subnormal f16, and the addition rounds to it.
  const Bits small = __builtin_bit_cast(Bits, __builtin_bit_cast(Float, size) + 0.5f) - 0x3f000000u;
  // Half a place is added, or a little less where the last bit kept is even; a carry goes into the exponent.
  const Bits normal = (size - kRebase + 0xfffu + (size >> 13 & 1u)) >> 13;
  const Bits number = size < kLeast ? small : normal;
  const Bits special = size > 0x7f800000u ? (size >> 13 & 0x3ffu) | 0x7e00u : Bits{} + 0x7c00u;
  return sign | (size >= kInfinite ? special : number);
}
inline float from_f16(uint16_t bits) { return widen_f16<float>(uint32_t{bits}); }
inline uint16_t to_f16(float x) { return static_cast<uint16_t>(round_f16<uint32_t>(x)); }

// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial. ln 2 is split into a part whose product
// with n is exact, and the rest. REQUIRES: |x| < 2^20, or NaN, for which `power` is NaN.
struct ExpParts {
  float power;  // e^r
  int32_t n;
};
inline ExpParts exp_parts(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float tail = 1.0f / 5040;
  tail = tail * r + 1.0f / 720;
  tail = tail * r + 1.0f / 120;
  tail = tail * r + 1.0f / 24;
  tail = tail * r + 1.0f / 6;
  tail = tail * r + 0.5f;
  return {(tail * r * r + r) + 1.0f,
          __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound)};
}
// 2^n. REQUIRES: -127 < n < 128.
inline float power_of_2(int32_t n) {
  return __builtin_bit_cast(float, static_cast<int32_t>(static_cast<uint32_t>(n + 127) << 23));
}

// e^x. NaN stays; what would be subnormal is left to the floating-point mode.
inline float elementary_exp(float x) {
  const float above = x > 89.0f ? 89.0f : x;
  const ExpParts e = exp_parts(above < -104.0f ? -104.0f : above);
  // In two factors, because 2^128 and what lies below 2^-126 are no numbers of their own.
  const int32_t half = e.n >> 1;
  return e.power * power_of_2(half) * power_of_2(e.n - half);
}
inline double elementary_exp(double x) { return std::exp(x); }

// tanh x: 1 - 2 / (e^2|x| + 1) with x's sign, and x + x^3 p(x^2) near zero.
inline float elementary_tanh(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits & 0x80000000u;
  const float size = __builtin_bit_cast(float, bits ^ sign);
  const ExpParts e = exp_parts(size > 10.0f ? 20.0f : 2 * size);  // from 10 on it is 1
  const float far = 1.0f - 2.0f / (e.power * power_of_2(e.n) + 1.0f);
  const float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const float near = size + size * square * p;
  // The sign comes last, so that -0 keeps it.
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, size < 0.625f ? near : far) | sign);
}
inline double elementary_tanh(double x) { return std::tanh(x); }

// 1 / (1 + e^-x).
template <class T>
inline T elementary_logistic(T x) {
  return 1 / (1 + elementary_exp(-x));
}

// 1 / cosh^2 x as 4 e / (1 + e)^2 with e = e^-2|x|, which is small where tanh is 1 to the last digit.
template <class T>
inline T elementary_tanh_slope(T x) {
  const T e = elementary_exp((x < 0 ? x : -x) * 2), sum = 1 + e;
  return 4 * e / (sum * sum);
}

// x / 2 (1 + tanh u) as x / (1 + e^-2u), which keeps its digits where tanh is almost -1;
// u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
inline T elementary_gelu_by_tanh(T x) {
  constexpr T kLinear = T(-1.5957691216057308), kCubic = T(-1.5957691216057308 * 0.044715);
  return x / (1 + elementary_exp(x * (kLinear + kCubic * (x * x))));
}

}  // namespace
}  // namespace espalier
