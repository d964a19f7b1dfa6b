// max and min of f32 as the ops define them, without branches: included by files of one instruction set.
#pragma once

#include <cstdint>

#if defined(__clang__)
#define ESPALIER_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ESPALIER_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

namespace espalier {
namespace {

inline int32_t bits_of(float x) { return __builtin_bit_cast(int32_t, x); }
inline float float_of(int32_t x) { return __builtin_bit_cast(float, x); }

// A subnormal number as the zero of its sign: flush_subnormal of ops/elementwise.h.
inline float flushed(float x) {
  const int32_t bits = bits_of(x);
  return float_of((bits & 0x7f800000) ? bits : bits & static_cast<int32_t>(0x80000000u));
}

// NaN wins, x's first; of +0 and -0 the larger is +0.
inline float larger(float x, float y) {
  const float tie = bits_of(x) < 0 ? y : x;
  const float ordered = x < y ? y : x;
  const float number = x == y ? tie : ordered;
  const float right = y != y ? y : flushed(number);
  return x != x ? x : right;
}
inline float smaller(float x, float y) {
  const float tie = bits_of(x) < 0 ? x : y;
  const float ordered = x > y ? y : x;
  const float number = x == y ? tie : ordered;
  const float right = y != y ? y : flushed(number);
  return x != x ? x : right;
}

}  // namespace
}  // namespace espalier
