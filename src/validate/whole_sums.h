// Sums of whole multiples of a unit, by vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/isa.h"

namespace espalier {

// Of numbers in units: their sum, and that of their squares in parts, (high << 2 * kHalf) +
// (cross << kHalf + 1) + low. And how many are no whole ones.
struct WholeSums {
  static constexpr int kHalf = 25;
  static constexpr size_t kMostTerms = size_t{1} << 12;
  int64_t sum = 0;
  uint64_t high = 0, cross = 0, low = 0;
  size_t others = 0;
};
// `units` is 1 / unit, a power of two, and all of up to kMostTerms values are less than 2^50 of these. Those
// that are no whole multiples are written to `others`, which has room for all.
using AddWhole = WholeSums(const double* values, size_t count, double unit, double units, double* others);
AddWhole add_whole_portable;
AddWhole add_whole_avx512;

inline WholeSums add_whole(std::span<const double> values, double unit, double units, double* others) {
  return ESPALIER_FROM_AVX512(add_whole, current_isa())(values.data(), values.size(), unit, units, others);
}

// The least and the largest of some finite numbers. REQUIRES: there are any.
using RangeOf = std::pair<double, double>(const double* values, size_t count);
RangeOf range_of_portable;
RangeOf range_of_avx512;

inline std::pair<double, double> range_of(std::span<const double> values) {
  return ESPALIER_FROM_AVX512(range_of, current_isa())(values.data(), values.size());
}

}  // namespace espalier
