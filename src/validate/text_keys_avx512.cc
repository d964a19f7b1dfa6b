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

// Sixteen texts at a time, in 32 bits each.
constexpr size_t kTagged = 16;

// Of two times eight the low halves.
__m512i joined(__m512i low, __m512i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high),
                            1);
}

// Each in all four bytes.
__m512i tags_of(__m512i low, __m512i high) {
  const __m512i words = joined(_mm512_srli_epi64(low, 32), _mm512_srli_epi64(high, 32));
  const __m512i first =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
  return _mm512_max_epu8(_mm512_shuffle_epi8(words, first), _mm512_set1_epi8(1));
}

// Which of the tags of each home are the text's, a bit for each, and which homes are full.
struct Matches {
  __m512i same;
  __mmask16 full;
};

Matches matches_of(const uint8_t* tags, __m512i homes, __m512i wanted) {
  alignas(64) uint32_t home[kTagged];
  alignas(32) uint64_t same[kTagged / 4], used[kTagged / 4];
  _mm512_store_si512(home, homes);
  for (int four = 0; four < 4; ++four) {
    const auto load = [&](int i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags + home[4 * four + i]));
    };
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(1), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(2)), load(3), 1);
    const __m512i held = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    const __m512i text = _mm512_add_epi32(_mm512_set1_epi32(4 * four),
                                          _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    same[four] = _mm512_cmpeq_epi8_mask(held, _mm512_permutexvar_epi32(text, wanted));
    used[four] = _mm512_test_epi8_mask(held, held);
  }
  const auto wide = [](const uint64_t* bits) {
    return _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(bits)));
  };
  return {wide(same), _mm512_test_epi32_mask(wide(used), _mm512_set1_epi32(1 << (kTagGroup - 1)))};
}

// The lowest bytes of those that are marked, and others behind them; how many are marked.
size_t write_marked(__mmask16 marked, __m512i words, uint8_t* out) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(marked, words)));
  return static_cast<size_t>(_mm_popcnt_u32(marked));
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
  const __m512i homes_of = _mm512_set1_epi64(static_cast<int64_t>(home_of(~uint64_t{0}, slots)));
  const __m512i in_slots = _mm512_set1_epi32(static_cast<int>(slots - 1));
  __m512i which = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (size_t i = 0; i < count; i += kTagged) {
    const size_t left = count - i;
    const auto all = static_cast<__mmask16>(left < kTagged ? (1u << left) - 1 : 0xffff);
    const __m512i low = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(all), hashes + i);
    const __m512i high = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(all >> 8), hashes + i + 8);
    const __m512i homes = joined(_mm512_and_si512(low, homes_of), _mm512_and_si512(high, homes_of));
    const Matches found = matches_of(tags, homes, tags_of(low, high));
    // The place of the lowest bit, by its exponent; anything of none.
    const __m512i lowest = _mm512_and_si512(found.same, _mm512_sub_epi32(_mm512_setzero_si512(), found.same));
    const __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(lowest)), 23);
    const __m512i first = _mm512_sub_epi32(exponent, _mm512_set1_epi32(127));
    _mm512_storeu_si512(out.slots + i, _mm512_and_si512(_mm512_add_epi32(homes, first), in_slots));
    const auto may_be =
        static_cast<__mmask16>(all & (_mm512_test_epi32_mask(found.same, found.same) | found.full));
    out.found += write_marked(may_be, which, out.which_found + out.found);
    out.others += write_marked(static_cast<__mmask16>(all & ~may_be), which, out.which_others + out.others);
    which = _mm512_add_epi32(which, _mm512_set1_epi32(kTagged));
  }
  return out;
}

}  // namespace espalier
