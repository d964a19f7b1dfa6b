// Decimal numbers in text.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace espalier {

namespace decimal {

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");

// W. D. Clinger, "How to read floating point numbers accurately" (1990): a number of at most 2^53 and a power
// of ten up to 10^22 are exact, so their quotient is rounded once.
inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                     1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

// The number of eight bytes of 0 to 9, the first of them the lowest.
inline uint64_t eight_digits(uint64_t word) {
  word = (word * 2561) >> 8;
  word = ((word & 0x00ff00ff00ff00ff) * 6553601) >> 16;
  return ((word & 0x0000ffff0000ffff) * 42949672960001) >> 32;
}

// A number of one to eight characters, digits but for one point at most; false for other text.
inline bool parse_short(const char* begin, const char* end, double& value) {
  constexpr uint64_t kPoint = '.' ^ '0', kHigh = 0x8080808080808080, kLow = 0x7f7f7f7f7f7f7f7f;
  uint64_t word = 0;
  std::memcpy(&word, begin, 8);
  // The last character is the highest byte now, and zeros stand before the first.
  word = (word ^ 0x3030303030303030) << (64 - 8 * (end - begin));
  const uint64_t no_point = word ^ (kPoint * 0x0101010101010101);
  const uint64_t points = ~(((no_point & kLow) + kLow) | no_point) & kHigh;
  int decimals = 0;
  if (points) {
    const int before = std::countr_zero(points) - 7;
    word = (word >> before >> 8 << before << 8) | (word & ((uint64_t{1} << before) - 1)) << 8;
    decimals = 7 - before / 8;
    if (end - begin == 1) return false;
  }
  if ((((word & kLow) + 0x7676767676767676) | word) & kHigh) return false;
  value = static_cast<double>(eight_digits(word)) / kPowers[decimals];
  return true;
}

// The same of any length, with exponents, within f64's range.
bool parse_long(const char* begin, const char* end, const char* limit, double& value);

}  // namespace decimal

// The f64 nearest to the number that all of [begin, end) spells: an optional sign, digits with or without a
// point, an optional exponent. False for other text and for numbers outside of f64's range, with any `value`.
// Bytes up to `limit` >= end may be read.
inline bool parse_decimal(const char* begin, const char* end, const char* limit, double& value) {
  constexpr double kSigns[] = {1, -1};
  const char* at = begin;
  const bool negative = at != end && *at == '-';
  at += at != end && (*at == '-' || *at == '+');
  const int64_t size = end - at;
  const bool is_short = size > 0 && size <= 8 && limit - at >= 8;
  if (!(is_short && decimal::parse_short(at, end, value)) && !decimal::parse_long(at, end, limit, value))
    return false;
  value *= kSigns[negative];
  return true;
}
inline std::optional<double> parse_decimal(std::string_view text) {
  const char* end = text.data() + text.size();
  double value = 0;
  if (!parse_decimal(text.data(), end, end, value)) return std::nullopt;
  return value;
}

}  // namespace espalier
