// CRC-32 of bytes, as zlib and PNG have it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier {

// Goes on from `before`, the checksum of the bytes ahead of these.
uint32_t crc32_of(const void* bytes, size_t size, uint32_t before = 0);

}  // namespace espalier
