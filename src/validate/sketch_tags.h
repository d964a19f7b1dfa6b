// Sixteen tags at once.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace espalier {

inline constexpr size_t kTagGroup = 16;

// Which of the tags from here on are this one, a bit for each.
inline uint32_t equal_tags(const uint8_t* tags, uint8_t tag) {
#if defined(__SSE2__)
  const __m128i group = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags));
  return static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8(static_cast<char>(tag)))));
#else
  uint32_t out = 0;
  for (size_t i = 0; i < kTagGroup; ++i) out |= uint32_t{tags[i] == tag} << i;
  return out;
#endif
}

}  // namespace espalier
