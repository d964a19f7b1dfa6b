#include <immintrin.h>

#include <algorithm>

#include "base/hash.h"
#include "validate/text_keys.h"

namespace espalier {
namespace {

// Eight keys at a time, the last 16 bytes of every other text in the lanes of one vector.
constexpr size_t kTexts = 8;

__m512i last_bytes(const char* origin, const uint32_t* ends) {
  const auto load = [&](size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(origin + ends[i] - 16));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(2), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(4)), load(6), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Without what stands before a text. `sizes` are of eight texts, in 64 bits each.
__m512i kept(__m512i bytes, __m512i sizes, int first) {
  const __m512i place =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m512i own = _mm512_shuffle_epi8(sizes, _mm512_set1_epi8(static_cast<char>(first)));
  const __m512i begin = _mm512_subs_epu8(_mm512_set1_epi8(16), own);
  return _mm512_maskz_mov_epi8(_mm512_cmpge_epu8_mask(place, begin), bytes);
}

__m512i times(__m512i a, uint64_t b) {
  return _mm512_mullo_epi64(a, _mm512_set1_epi64(static_cast<int64_t>(b)));
}

}  // namespace

uint32_t read_text_keys_avx512(const TextPlaces& texts, TextKeys& keys) {
  const char* const origin = texts.origin;
  __m512i longest = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + kTexts <= texts.count; i += kTexts) {
    const __m512i wide =
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(texts.sizes + i)));
    longest = _mm512_max_epu64(longest, wide);
    const uint32_t* const ends = texts.ends + i;
    const __m512i even = kept(last_bytes(origin, ends), wide, 0);
    const __m512i odd = kept(last_bytes(origin, ends + 1), wide, 8);
    const __m512i low = _mm512_unpacklo_epi64(even, odd), high = _mm512_unpackhi_epi64(even, odd);
    const __m512i x = times(_mm512_add_epi64(low, wide), kHashFirst);
    const __m512i y = times(high, kHashSecond);
    __m512i hash = _mm512_xor_si512(x, _mm512_rol_epi64(y, 32));
    hash = times(_mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32)), kHashThird);
    hash = times(_mm512_xor_si512(hash, _mm512_srli_epi64(hash, 29)), kHashSecond);
    hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32));
    _mm512_storeu_si512(keys.low + i, low);
    _mm512_storeu_si512(keys.high + i, high);
    _mm512_storeu_si512(keys.hash + i, hash);
  }
  const auto most = static_cast<uint32_t>(_mm512_reduce_max_epu64(longest));
  if (i == texts.count) return most;
  TextKeys last;
  const size_t left = texts.count - i;
  const uint32_t most_left = read_text_keys_portable(texts.part(i, left), last);
  std::copy_n(last.low, left, keys.low + i);
  std::copy_n(last.high, left, keys.high + i);
  std::copy_n(last.hash, left, keys.hash + i);
  return std::max(most, most_left);
}

TagMatches find_tags_avx512(const uint8_t* tags, size_t slots, const uint64_t* hashes, size_t count) {
  TagMatches out;
  size_t found = 0, others = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t home = home_of(hashes[i], slots);
    const __m128i group = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags + home));
    const __m128i tag = _mm_set1_epi8(static_cast<char>(tag_of(hashes[i])));
    const uint32_t same = _mm_cmpeq_epi8_mask(group, tag);
    // How many zeros stand behind its lowest one.
    const auto first = static_cast<size_t>(_mm_popcnt_u32((same - 1) & ~same));
    out.slots[i] = static_cast<uint32_t>((home + first) & (slots - 1));
    const size_t may_be = size_t{same != 0} | size_t{tags[home + kTagGroup - 1] != 0};
    out.which_found[found] = out.which_others[others] = static_cast<uint8_t>(i);
    found += may_be;
    others += 1 - may_be;
  }
  out.found = found;
  out.others = others;
  return out;
}

}  // namespace espalier
