#include <immintrin.h>

#include <bit>

#include "format/csv_ends.h"

namespace espalier {

CsvEnds find_csv_ends_avx512(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  const __m512i delimiters = _mm512_set1_epi8(delimiter), line_ends = _mm512_set1_epi8('\n'),
                quotes = _mm512_set1_epi8('"');
  const __m512i step = _mm512_set1_epi32(16);
  // The places behind the first 16 bytes of a block.
  __m512i behind = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
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
    uint32_t* to = out + found.count;
    for (int part = 0; part < 4; ++part) {
      const auto own = static_cast<__mmask16>(ends >> 16 * part);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(own, behind));
      to += std::popcount(static_cast<unsigned>(own));
      behind = _mm512_add_epi32(behind, step);
    }
    found.count = static_cast<size_t>(to - out);
  }
  found.all = true;
  return found;
}

}  // namespace espalier
