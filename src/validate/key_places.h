// Keys of numbers that are in the numbers' order, by vectors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/isa.h"

namespace espalier {

// Of finite numbers. Both zeros have one.
inline uint64_t ordered_key(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);
  return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | uint64_t{1} << 63);
}

// Keys without their lowest bits, `count` of them from `first` on.
struct KeyRange {
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint64_t first = 0, count = 0;
  int dropped = 0;
};
// Where in the range each number's key is, or kNone. REQUIRES: range.count <= kNone.
using FindKeys = void(const double* values, size_t count, const KeyRange& range, uint32_t* places);
FindKeys find_keys_portable;
FindKeys find_keys_avx512;

inline void find_keys(std::span<const double> values, const KeyRange& range, uint32_t* places) {
  ESPALIER_FROM_AVX512(find_keys, current_isa())(values.data(), values.size(), range, places);
}

}  // namespace espalier
