// Elements side by side, for loops that the compiler would not keep in registers: included by files of one
// instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/elements.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace espalier {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

// `Width` elements; below, one of them, for those that fill no vector.
template <int64_t Width>
struct Lanes {
  static constexpr int64_t kWidth = Width;
  typedef float Float __attribute__((vector_size(Width * 4)));
  typedef double Double __attribute__((vector_size(Width * 8)));
  typedef uint32_t Bits __attribute__((vector_size(Width * 4)));
  typedef uint16_t Half __attribute__((vector_size(Width * 2)));
};
template <>
struct Lanes<1> {
  static constexpr int64_t kWidth = 1;
  using Float = float;
  using Double = double;
  using Bits = uint32_t;
  using Half = uint16_t;
};
constexpr int64_t kFloats = kVectorBytes / 4, kDoubles = kVectorBytes / 8;

// Element by element. GCC 12 takes several instructions for what some processors do in one.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(x);
  } else {
    return __builtin_convertvector(x, To);
  }
}
#if defined(__AVX2__)
template <>
inline Lanes<8>::Bits convert(Lanes<8>::Half x) {
  return reinterpret_cast<Lanes<8>::Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x)));
}
template <>
inline Lanes<4>::Double convert(Lanes<4>::Float x) {
  return _mm256_cvtps_pd(x);
}
#endif
#if defined(__AVX512F__)
// GCC 12 warns of the forms without a mask.
constexpr auto kAll = static_cast<__mmask16>(-1);
template <>
inline Lanes<16>::Bits convert(Lanes<16>::Half x) {
  return reinterpret_cast<Lanes<16>::Bits>(_mm512_maskz_cvtepu16_epi32(kAll, reinterpret_cast<__m256i>(x)));
}
template <>
inline Lanes<16>::Half convert(Lanes<16>::Bits x) {
  return reinterpret_cast<Lanes<16>::Half>(_mm512_maskz_cvtepi32_epi16(kAll, reinterpret_cast<__m512i>(x)));
}
template <>
inline Lanes<8>::Double convert(Lanes<8>::Float x) {
  return _mm512_maskz_cvtps_pd(static_cast<__mmask8>(kAll), x);
}
#endif

// Elements of f16 as f32 and back, to nearest even: what the formulas of base/elementary.h give.
template <class L>
typename L::Float widened_f16(typename L::Half x) {
  return widen_f16<typename L::Float>(convert<typename L::Bits>(x));
}
template <class L>
typename L::Half rounded_f16(typename L::Float x) {
  return convert<typename L::Half>(round_f16<typename L::Bits>(x));
}
#if defined(__F16C__)
template <>
inline Lanes<8>::Float widened_f16<Lanes<8>>(Lanes<8>::Half x) {
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(x));
}
template <>
inline Lanes<8>::Half rounded_f16<Lanes<8>>(Lanes<8>::Float x) {
  return reinterpret_cast<Lanes<8>::Half>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif
#if defined(__AVX512F__)
template <>
inline Lanes<16>::Float widened_f16<Lanes<16>>(Lanes<16>::Half x) {
  return _mm512_maskz_cvtph_ps(kAll, reinterpret_cast<__m256i>(x));
}
template <>
inline Lanes<16>::Half rounded_f16<Lanes<16>>(Lanes<16>::Float x) {
  return reinterpret_cast<Lanes<16>::Half>(_mm512_maskz_cvtps_ph(kAll, x, _MM_FROUND_TO_NEAREST_INT));
}
#endif

template <class V>
V load_as(const void* p) {
  V out;
  __builtin_memcpy(&out, p, sizeof out);
  return out;
}
template <class V>
void store_as(V x, void* p) {
  __builtin_memcpy(p, &x, sizeof x);
}

// The bits of f32 for elements in memory; storing bf16 cuts the lower half off.
template <class L>
typename L::Bits load_bits(const float* p) {
  return load_as<typename L::Bits>(p);
}
template <class L>
typename L::Bits load_bits(const Bf16* p) {
  return convert<typename L::Bits>(load_as<typename L::Half>(p)) << 16;
}
template <class L>
typename L::Bits load_bits(const F16* p) {
  return __builtin_bit_cast(typename L::Bits, widened_f16<L>(load_as<typename L::Half>(p)));
}
template <class L, class T>
typename L::Float load_floats(const T* p) {
  return __builtin_bit_cast(typename L::Float, load_bits<L>(p));
}
template <class L>
void store_bits(typename L::Bits x, float* p) {
  store_as(x, p);
}
template <class L>
void store_bits(typename L::Bits x, Bf16* p) {
  store_as(convert<typename L::Half>(typename L::Bits{x >> 16}), p);
}
template <class L>
void store_bits(typename L::Bits x, F16* p) {
  store_as(rounded_f16<L>(__builtin_bit_cast(typename L::Float, x)), p);
}
template <class L>
typename L::Bits repeat(float x) {
  return typename L::Bits{} + __builtin_bit_cast(uint32_t, x);
}

// Calls one(lanes, i) for vectors of f32, then single elements, that make up the first n.
template <class F>
void each_vector(int64_t n, F one) {
  int64_t i = 0;
  for (; i + kFloats <= n; i += kFloats) one(Lanes<kFloats>{}, i);
  for (; i < n; ++i) one(Lanes<1>{}, i);
}
inline void widen_array(const F16* x, float* out, int64_t n) {
  each_vector(n, [&](auto lanes, int64_t i) { store_as(load_floats<decltype(lanes)>(x + i), out + i); });
}
inline void round_array(const float* x, F16* out, int64_t n) {
  each_vector(n, [&](auto lanes, int64_t i) {
    store_bits<decltype(lanes)>(load_bits<decltype(lanes)>(x + i), out + i);
  });
}

}  // namespace
}  // namespace espalier
