// Elements side by side, for loops that the compiler would not keep in registers: included by files of one
// instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

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

// The bits of f32 for elements of f32 or bf16 in memory; storing bf16 cuts the lower half off.
template <class L>
typename L::Bits load_bits(const float* p) {
  return load_as<typename L::Bits>(p);
}
template <class L>
typename L::Bits load_bits(const uint16_t* p) {
  return convert<typename L::Bits>(load_as<typename L::Half>(p)) << 16;
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
void store_bits(typename L::Bits x, uint16_t* p) {
  store_as(convert<typename L::Half>(typename L::Bits{x >> 16}), p);
}
template <class L>
typename L::Bits repeat(float x) {
  return typename L::Bits{} + __builtin_bit_cast(uint32_t, x);
}

}  // namespace
}  // namespace espalier
