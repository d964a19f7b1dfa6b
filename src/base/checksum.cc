#include "base/checksum.h"

#include <zlib.h>

namespace espalier {

uint32_t crc32_of(const void* bytes, size_t size, uint32_t before) {
  if (size == 0) return before;
  return static_cast<uint32_t>(::crc32_z(before, static_cast<const Bytef*>(bytes), size));
}

}  // namespace espalier
