// Vectors of bytes that any processor has.
#pragma once

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace espalier {
namespace {

using Bytes = uint8_t __attribute__((vector_size(16)));
using Words = uint64_t __attribute__((vector_size(16)));

// A bit for each of 16 bytes of 0xff or 0.
[[maybe_unused]] inline uint64_t bits_of(Bytes equal) {
#ifdef __SSE2__
  return static_cast<uint64_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(equal)));
#else
  constexpr Bytes kWeights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  constexpr uint64_t kSum = 0x0101010101010101;
  const auto words = reinterpret_cast<Words>(equal & kWeights);
  return words[0] * kSum >> 56 | (words[1] * kSum >> 56) << 8;
#endif
}

}  // namespace
}  // namespace espalier
