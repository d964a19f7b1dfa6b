// Decimal numbers in text.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace espalier {

namespace decimal {

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                     1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

struct Digits {
  uint64_t value = 0;
  int count = 0;
};

inline uint64_t load(const char* at, const char* limit) {
  uint64_t word = 0;
  if (limit - at >= 8) {
    std::memcpy(&word, at, 8);
  } else {
    std::memcpy(&word, at, static_cast<size_t>(limit - at));
  }
  return word;
}

// The number of eight bytes of 0 to 9, the first of them the lowest.
inline uint64_t eight_digits(uint64_t word) {
  word = (word * 2561) >> 8;
  word = ((word & 0x00ff00ff00ff00ff) * 6553601) >> 16;
  return ((word & 0x0000ffff0000ffff) * 42949672960001) >> 32;
}

// Appends the digits at `at` and moves behind them; `value` is right up to 19 digits.
inline void read_digits(const char*& at, const char* end, const char* limit, Digits& digits) {
  constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (int count = 8; count == 8;) {
    const uint64_t word = load(at, limit) ^ 0x3030303030303030;
    const uint64_t other = (((word & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | word) & 0x8080808080808080;
    count = static_cast<int>(std::min<int64_t>(std::countr_zero(other) >> 3, end - at));
    if (count == 0) return;
    digits.value = digits.value * kTens[count] + eight_digits(word << (64 - 8 * count));
    digits.count += count;
    at += count;
  }
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

// The same by std::from_chars, for what the fast way does not know to be exact.
bool parse_slowly(const char* begin, const char* end, double& value);

}  // namespace decimal

// The f64 nearest to the number that all of [begin, end) spells: an optional sign, digits with or without a
// point, an optional exponent. False for other text and for numbers outside of f64's range, with any `value`.
// Bytes up to `limit` >= end may be read.
inline bool parse_decimal(const char* begin, const char* end, const char* limit, double& value) {
  constexpr double kSigns[] = {1, -1};
  const char* at = begin;
  const bool negative = at != end && *at == '-';
  at += at != end && (*at == '-' || *at == '+');
  const char* const unsigned_begin = at;
  if (const int64_t size = end - at; size > 0 && size <= 8 && limit - at >= 8) {
    if (decimal::parse_short(at, end, value)) {
      value *= kSigns[negative];
      return true;
    }
  }
  decimal::Digits digits;
  decimal::read_digits(at, end, limit, digits);
  const int whole = digits.count;
  if (at != end && *at == '.') decimal::read_digits(++at, end, limit, digits);
  // W. D. Clinger, "How to read floating point numbers accurately" (1990): both operands are exact, so their
  // quotient is rounded once.
  if (at != end || digits.count == 0 || digits.count > 19 || digits.value > uint64_t{1} << 53) {
    if (!decimal::parse_slowly(unsigned_begin, end, value)) return false;
  } else {
    value = static_cast<double>(digits.value) / decimal::kPowers[digits.count - whole];
  }
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
