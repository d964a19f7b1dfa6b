// A 64-bit content hash, stable across runs and machines of one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace espalier {

inline uint64_t hash_mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}
inline uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return hash_mix(seed + 0x9e3779b97f4a7c15ull + value * 0xff51afd7ed558ccdull);
}
inline uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t h = hash_combine(seed, size);
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    h = hash_combine(h, word);
  }
  uint64_t tail = 0;
  if (size) std::memcpy(&tail, bytes, size);
  return hash_combine(h, tail);
}

}  // namespace espalier
