// Where cells begin in text without quotes, found by vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/isa.h"

namespace espalier {

// So many bytes are looked at together.
inline constexpr size_t kCsvBlock = 64;
// kCsvBlock bytes that begin with these, of which `left` are: as they lie, or in `copy` with others behind
// that end no cell.
inline const char* csv_block(const char* bytes, size_t left, char (&copy)[kCsvBlock]) {
  if (left >= kCsvBlock) return bytes;
  std::memset(copy, 'x', kCsvBlock);
  return static_cast<const char*>(std::memcpy(copy, bytes, left));
}

struct CsvEnds {
  bool all = false;             // nothing is in the way: no quote, and enough room
  size_t count = 0, lines = 0;  // of delimiters and line ends together, and of line ends
};
// Writes the place behind each delimiter and line end of fewer than 2^32 bytes, while there is room for so
// many.
using FindCsvEnds = CsvEnds(const char* text, size_t size, char delimiter, uint32_t* out, size_t room);
FindCsvEnds find_csv_ends_portable;
FindCsvEnds find_csv_ends_avx2;
FindCsvEnds find_csv_ends_avx512;
// The last one where the processor lacks VBMI2.
FindCsvEnds find_csv_ends_avx512_words;

inline CsvEnds find_csv_ends(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  return ESPALIER_BY_ISA(find_csv_ends, current_isa())(text, size, delimiter, out, room);
}

}  // namespace espalier
