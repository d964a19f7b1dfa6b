// The loop of find_csv_ends(), for a file that says what `Bytes` are and has bits_of(): a bit for each byte
// of 0xff or 0.
#include <bit>
#include <cstring>

#include "format/csv_ends.h"

namespace espalier {
namespace {

CsvEnds find_ends(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  const auto filled = [](char c) { return Bytes{} + static_cast<uint8_t>(c); };
  const Bytes delimiters = filled(delimiter), line_ends = filled('\n'), quotes = filled('"');
  CsvEnds found;
  char last[kCsvBlock];
  for (size_t at = 0; at < size; at += kCsvBlock) {
    // Some more are written than there are.
    if (room - found.count < kCsvBlock + 8) return {};
    const char* const bytes = csv_block(text + at, size - at, last);
    uint64_t ends = 0, lines = 0;
    Bytes quoted = {};
    for (size_t i = 0; i < kCsvBlock; i += sizeof(Bytes)) {
      Bytes part;
      std::memcpy(&part, bytes + i, sizeof part);
      const auto line = reinterpret_cast<Bytes>(part == line_ends);
      ends |= bits_of(reinterpret_cast<Bytes>(part == delimiters) | line) << i;
      lines |= bits_of(line) << i;
      quoted |= reinterpret_cast<Bytes>(part == quotes);
    }
    if (bits_of(quoted)) return {};
    found.lines += static_cast<size_t>(std::popcount(lines));
    uint32_t* to = out + found.count;
    found.count += static_cast<size_t>(std::popcount(ends));
    // Eight at a time, of which the last ones may be none: cheaper than to foresee how many they are.
    while (ends) {
      for (int i = 0; i < 8; ++i, ends &= ends - 1)
        *to++ = static_cast<uint32_t>(at) + static_cast<uint32_t>(std::countr_zero(ends)) + 1;
    }
  }
  found.all = true;
  return found;
}

}  // namespace
}  // namespace espalier
