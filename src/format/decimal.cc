#include "format/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace espalier {
namespace decimal {
namespace {

// Clinger: a power of ten up to 10^22 is exact too, so that its quotient is rounded once.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                              1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

struct Digits {
  uint64_t value = 0;
  int count = 0;
};

// Appends the digits at `at` and moves behind them; `value` is right up to 19 digits.
void read_digits(const char*& at, const char* end, Digits& digits) {
  constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (int count = 8; count == 8;) {
    uint64_t word = 0;
    std::memcpy(&word, at, static_cast<size_t>(std::min<int64_t>(end - at, 8)));
    word ^= 0x3030303030303030;
    const uint64_t other = (((word & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | word) & 0x8080808080808080;
    count = static_cast<int>(std::min<int64_t>(std::countr_zero(other) >> 3, end - at));
    if (count == 0) return;
    digits.value = digits.value * kTens[count] + eight_digits(word << (64 - 8 * count));
    digits.count += count;
    at += count;
  }
}

bool parse_slowly(const char* begin, const char* end, double& value) {
  // from_chars also knows words, and a sign of its own.
  if (begin == end || ((*begin < '0' || *begin > '9') && *begin != '.')) return false;
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

bool parse_unsigned(const char* begin, const char* end, double& value) {
  const char* at = begin;
  Digits digits;
  read_digits(at, end, digits);
  const int whole = digits.count;
  if (at != end && *at == '.') read_digits(++at, end, digits);
  if (at != end || digits.count == 0 || digits.count > 19 || digits.value > kExact)
    return parse_slowly(begin, end, value);
  value = static_cast<double>(digits.value) / kPowers[digits.count - whole];
  return true;
}

}  // namespace
}  // namespace decimal

std::optional<double> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  if (!decimal::parse_unsigned(text.data(), text.data() + text.size(), value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::string> without_thousands(std::string_view text) {
  constexpr size_t kLongest = 64;
  std::string plain(text);
  if (text.size() > kLongest || plain.find('.') == plain.npos) return std::nullopt;
  for (size_t point = text.size(); point >= 4 && plain[point - 4] == '.'; point -= 4)
    plain.erase(point - 4, 1);
  const size_t sign = text.starts_with('-') || text.starts_with('+');
  const size_t digits = text.size() - sign, points = text.size() - plain.size();
  const bool whole = std::all_of(plain.begin() + static_cast<ptrdiff_t>(sign), plain.end(),
                                 [](char c) { return c >= '0' && c <= '9'; });
  if (!whole || digits < 4 * points + 1 || digits > 4 * points + 3 || plain[sign] == '0') return std::nullopt;
  return plain;
}

std::optional<std::string> with_decimal_point(std::string_view text) {
  constexpr size_t kLongest = 64;
  const size_t comma = text.find(',');
  if (comma == text.npos || text.size() > kLongest) return std::nullopt;
  std::string plain(text.substr(0, comma));
  if (plain.find('.') != plain.npos) {
    std::optional<std::string> whole = without_thousands(plain);
    if (!whole) return std::nullopt;
    plain = std::move(*whole);
  }
  plain += '.';
  plain += text.substr(comma + 1);
  return parse_decimal(plain) ? std::optional(plain) : std::nullopt;
}

std::optional<double> parse_decimal_comma(std::string_view text) {
  const std::optional<std::string> plain = with_decimal_point(text);
  return plain ? parse_decimal(*plain) : std::nullopt;
}

}  // namespace espalier
