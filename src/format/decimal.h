// Decimal numbers in text.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace espalier {

namespace decimal {

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");

// W. D. Clinger, "How to read floating point numbers accurately" (1990): a number of at most 2^53 and a power
// of ten up to 10^22 are exact, so their quotient is rounded once.
inline constexpr uint64_t kExact = uint64_t{1} << 53;

// The number of eight bytes of 0 to 9, the first of them the lowest.
inline uint64_t eight_digits(uint64_t word) {
  word = (word * 2561) >> 8;
  word = ((word & 0x00ff00ff00ff00ff) * 6553601) >> 16;
  return ((word & 0x0000ffff0000ffff) * 42949672960001) >> 32;
}

// Signs, lengths and points of cells are hard to foresee, so that what is short is read without a branch on
// any.
inline constexpr int64_t kShort = 16;
using Bytes = uint8_t __attribute__((vector_size(kShort)));
using Words = uint64_t __attribute__((vector_size(kShort)));
inline Bytes load(const void* at) {
  Bytes out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

// From the nth byte on, its last n bytes are ones.
inline constexpr uint8_t kLast[2 * kShort] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                              0,   0,   0,   0,   0,   255, 255, 255, 255, 255, 255,
                                              255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

// The number of all of [begin, end) if it is an optional sign and up to kShort digits, a point among them,
// and exact; else NaN. Bytes from `origin` <= begin on may be read.
[[gnu::always_inline]] inline double parse_short(const char* origin, const char* begin, const char* end) {
  // By the characters after a point, or kShort without one.
  static constexpr double kDivisors[kShort + 1] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                                   1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1};
  static constexpr double kSigns[] = {1, -1};
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (end - origin <= kShort || begin == end) return kNone;
  const auto begins_with = [&](char c) { return static_cast<uint32_t>((*begin ^ c) - 1) >> 31; };
  const uint32_t negative = begins_with('-');
  const int64_t size = end - begin - (negative | begins_with('+'));
  if (size < 1 || size > kShort) return kNone;
  // With zeros before the first; and the same one place later.
  const Bytes characters = (load(end - kShort) ^ '0') & load(kLast + size);
  const Bytes later = (load(end - kShort - 1) ^ '0') & load(kLast + size - 1);
  constexpr uint8_t kPoint = '.' ^ '0';
  const auto points = reinterpret_cast<Words>(characters == kPoint);
  const int after = points[1] ? std::countl_zero(points[1]) / 8 : 8 + std::countl_zero(points[0]) / 8;
  // What stands before the point moves over it.
  const Bytes stays = load(kLast + after), digits = (characters & stays) | (later & ~stays);
  const auto other = reinterpret_cast<Words>(digits > 9), words = reinterpret_cast<Words>(digits);
  const uint64_t number = eight_digits(words[0]) * 100000000 + eight_digits(words[1]);
  if ((other[0] | other[1]) || number > kExact || size + after == 1) return kNone;
  return static_cast<double>(static_cast<int64_t>(number)) / kDivisors[after] * kSigns[negative];
}

// Whether all of [begin, end) is an optional sign and one to kShort digits, whose number `value` then is.
// Bytes from `origin` <= begin on may be read.
[[gnu::always_inline]] inline bool parse_short_whole(const char* origin, const char* begin, const char* end,
                                                     int64_t& value) {
  if (end - origin < kShort || begin == end) return false;
  const bool negative = *begin == '-';
  const int64_t size = end - begin - (negative || *begin == '+');
  if (size < 1 || size > kShort) return false;
  const Bytes digits = (load(end - kShort) ^ '0') & load(kLast + size);
  const auto other = reinterpret_cast<Words>(digits > 9), words = reinterpret_cast<Words>(digits);
  const auto number = static_cast<int64_t>(eight_digits(words[0]) * 100000000 + eight_digits(words[1]));
  value = negative ? -number : number;
  return (other[0] | other[1]) == 0;
}

}  // namespace decimal

// The f64 nearest to the number that all of the text spells: an optional sign, digits with or without a
// point, an optional exponent. Nothing for other text and for numbers outside of f64's range.
std::optional<double> parse_decimal(std::string_view text);
// The same of up to 64 characters with a comma for the point, and perhaps points between thousands:
// 1234,5 and 1.234,5.
std::optional<double> parse_decimal_comma(std::string_view text);
// That number with a point for its comma and nothing between thousands; nothing for other text.
std::optional<std::string> with_decimal_point(std::string_view text);
// 1.234.567 without the points, each before three digits; nothing for other text, 0.123 too.
std::optional<std::string> without_thousands(std::string_view text);

}  // namespace espalier
