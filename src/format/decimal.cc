#include "format/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace espalier::decimal {
namespace {

struct Digits {
  uint64_t value = 0;
  int count = 0;
};

uint64_t load(const char* at, const char* limit) {
  uint64_t word = 0;
  if (limit - at >= 8) {
    std::memcpy(&word, at, 8);
  } else {
    std::memcpy(&word, at, static_cast<size_t>(limit - at));
  }
  return word;
}

// Appends the digits at `at` and moves behind them; `value` is right up to 19 digits.
void read_digits(const char*& at, const char* end, const char* limit, Digits& digits) {
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

bool parse_slowly(const char* begin, const char* end, double& value) {
  // from_chars also knows words, and a sign of its own.
  if (begin == end || ((*begin < '0' || *begin > '9') && *begin != '.')) return false;
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

}  // namespace

bool parse_long(const char* begin, const char* end, const char* limit, double& value) {
  const char* at = begin;
  Digits digits;
  read_digits(at, end, limit, digits);
  const int whole = digits.count;
  if (at != end && *at == '.') read_digits(++at, end, limit, digits);
  if (at != end || digits.count == 0 || digits.count > 19 || digits.value > uint64_t{1} << 53)
    return parse_slowly(begin, end, value);
  value = static_cast<double>(digits.value) / kPowers[digits.count - whole];
  return true;
}

}  // namespace espalier::decimal
