// Sixteen tags at once.
#pragma once

#include <cstring>

#include "format/byte_bits.h"

namespace espalier {

// Which of the tags from here on are this one, a bit for each.
inline uint32_t equal_tags(const uint8_t* tags, uint8_t tag) {
  Bytes group;
  std::memcpy(&group, tags, sizeof group);
  return static_cast<uint32_t>(bits_of(reinterpret_cast<Bytes>(group == tag)));
}

}  // namespace espalier
