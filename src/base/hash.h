// A 64-bit content hash, stable across runs and machines of one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

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

// The halves of a product of 128 bits folded into one (Wang Yi's wyhash).
inline uint64_t hash_fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
inline constexpr uint64_t kHashFirst = 0x9e3779b97f4a7c15, kHashSecond = 0xd6e8feb86659fd93,
                          kHashThird = 0xff51afd7ed558ccd;
// Of up to 16 bytes in two words, and of how many they are.
inline uint64_t hash_words(uint64_t low, uint64_t high, uint64_t size) {
  return hash_fold(hash_fold(low ^ kHashSecond, high ^ kHashFirst) ^ kHashThird, size ^ kHashFirst);
}

// Another one, by products of 64 bits alone, which vectors have.
inline uint64_t hash_words_narrowly(uint64_t low, uint64_t high, uint64_t size) {
  const uint64_t second = high * kHashSecond;
  uint64_t hash = (low + size) * kHashFirst ^ (second << 32 | second >> 32);
  hash = (hash ^ hash >> 32) * kHashThird;
  hash = (hash ^ hash >> 29) * kHashSecond;
  return hash ^ hash >> 32;
}

// Of texts, most of which are short: all bits depend on all bytes. Another function than hash_bytes(), as
// stable.
inline uint64_t hash_text(std::string_view text) {
  const auto load = [&]<class Word>(size_t at, Word word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    return static_cast<uint64_t>(word);
  };
  const uint64_t size = text.size();
  uint64_t state = kHashFirst;
  for (; text.size() > 16; text.remove_prefix(16))
    state = hash_fold(load(0, uint64_t{}) ^ kHashSecond, load(8, uint64_t{}) ^ state);
  // The rest from both of its ends, which may meet or overlap.
  const size_t left = text.size();
  uint64_t head = 0, tail = 0;
  if (left >= 8) {
    head = load(0, uint64_t{});
    tail = load(left - 8, uint64_t{});
  } else if (left >= 4) {
    head = load(0, uint32_t{});
    tail = load(left - 4, uint32_t{});
  } else if (left > 0) {
    head = load(0, uint8_t{}) << 16 | load(left / 2, uint8_t{}) << 8 | load(left - 1, uint8_t{});
  }
  return hash_fold(hash_fold(head ^ kHashSecond, tail ^ state) ^ kHashThird, size ^ kHashFirst);
}

}  // namespace espalier
