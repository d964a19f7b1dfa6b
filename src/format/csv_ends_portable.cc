#include "format/byte_bits.h"
#include "format/csv_ends_body.h"

namespace espalier {

CsvEnds find_csv_ends_portable(const char* text, size_t size, char delimiter, uint32_t* out, size_t room) {
  return find_ends(text, size, delimiter, out, room);
}

}  // namespace espalier
