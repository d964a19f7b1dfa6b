#include <immintrin.h>

#include <bit>

#include "format/csv_ends.h"

namespace espalier {
namespace {

// Writes the places behind the bytes at `at` that are marked, in order, and up to 16 others behind them; how
// many are marked.
struct PlacesOfWords {
  // Those behind the first 16 bytes of a block.
  __m512i behind = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);

  size_t operator()(uint64_t marks, uint32_t* out) {
    const uint32_t* const begin = out;
    for (int part = 0; part < 4; ++part) {
      const auto own = static_cast<__mmask16>(marks >> 16 * part);
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(own, behind));
      out += std::popcount(static_cast<unsigned>(own));
      behind = _mm512_add_epi32(behind, _mm512_set1_epi32(16));
    }
    return static_cast<size_t>(out - begin);
  }
};

// The same by AVX-512's VBMI2, for blocks of which few bytes are marked.
struct PlacesOfBytes {
  __m512i first = _mm512_setzero_si512();

  [[gnu::target("avx512vbmi2")]] size_t operator()(uint64_t marks, uint32_t* out) {
    const __m512i each =
        _mm512_set_epi8(64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44,
                        43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23,
                        22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const auto count = static_cast<size_t>(std::popcount(marks));
    __m512i places = _mm512_maskz_compress_epi8(marks, each);
    for (size_t done = 0;; done += 16) {
      const __m512i words = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
      _mm512_storeu_si512(out + done, _mm512_add_epi32(first, words));
      if (done + 16 >= count) break;
      places = _mm512_shuffle_i32x4(places, places, 0x39);
    }
    first = _mm512_add_epi32(first, _mm512_set1_epi32(kCsvBlock));
    return count;
  }
};

template <class Places>
CsvEnds find_ends(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  const __m512i delimiters = _mm512_set1_epi8(delimiter), line_ends = _mm512_set1_epi8('\n'),
                quotes = _mm512_set1_epi8('"');
  Places write;
  CsvEnds found;
  char last[kCsvBlock];
  for (size_t at = 0; at < size; at += kCsvBlock) {
    // Some more are written than there are.
    if (room - found.count < kCsvBlock + 8) return {};
    const __m512i block = _mm512_loadu_si512(csv_block(text + at, size - at, last));
    const uint64_t lines = _mm512_cmpeq_epi8_mask(block, line_ends);
    const uint64_t ends = _mm512_cmpeq_epi8_mask(block, delimiters) | lines;
    if (_mm512_cmpeq_epi8_mask(block, quotes)) return {};
    found.lines += static_cast<size_t>(std::popcount(lines));
    found.count += write(ends, out + found.count);
  }
  found.all = true;
  return found;
}

// All that it calls has its instructions.
[[gnu::target("avx512vbmi2"), gnu::flatten]] CsvEnds find_ends_of_bytes(const char* text, size_t size,
                                                                        char delimiter, uint32_t* out,
                                                                        size_t room) {
  return find_ends<PlacesOfBytes>(text, size, delimiter, out, room);
}

}  // namespace

CsvEnds find_csv_ends_avx512_words(const char* text, size_t size, char delimiter, uint32_t* out,
                                   size_t room) {
  return find_ends<PlacesOfWords>(text, size, delimiter, out, room);
}

CsvEnds find_csv_ends_avx512(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  static const bool bytes = __builtin_cpu_supports("avx512vbmi2");
  return (bytes ? find_ends_of_bytes : find_csv_ends_avx512_words)(text, size, delimiter, out, room);
}

}  // namespace espalier
