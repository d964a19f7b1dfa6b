#include <immintrin.h>

#include <cstdint>

namespace espalier {
namespace {

using Bytes = uint8_t __attribute__((vector_size(32)));
uint64_t bits_of(Bytes equal) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(equal)));
}

}  // namespace
}  // namespace espalier

#include "format/csv_ends_body.h"

namespace espalier {

CsvEnds find_csv_ends_avx2(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  return find_ends(text, size, delimiter, out, room);
}

}  // namespace espalier
