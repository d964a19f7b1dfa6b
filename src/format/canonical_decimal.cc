#include "format/canonical_decimal.h"

#include <charconv>
#include <cstdint>

#include "base/digits.h"
#include "base/format.h"

namespace espalier {

std::optional<std::string> canonical_decimal(std::string_view text) {
  constexpr int64_t kMostPlain = 21, kMostZeros = 6, kMostExponent = 1'000'000;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // The number is 0.DIGITS * 10^point.
  std::string digits;
  int64_t point = 0;
  bool fraction = false, any = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !fraction) {
      fraction = true;
    } else if (is_digit(text[i])) {
      any = true;
      if (digits.empty() && text[i] == '0') {
        point -= fraction;
        continue;
      }
      digits += text[i];
      point += !fraction;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if ((text[i] | 32) != 'e') return std::nullopt;
    ++i;
    if (i < text.size() && text[i] == '+') {
      ++i;
      if (i < text.size() && text[i] == '-') return std::nullopt;
    }
    int64_t exponent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + i, end, exponent);
    if (error != std::errc() || stop != end || exponent > kMostExponent || exponent < -kMostExponent)
      return std::nullopt;
    point += exponent;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  if (digits.empty()) return "0";
  const auto size = static_cast<int64_t>(digits.size());
  std::string out = negative ? "-" : "";
  const auto zeros = [](int64_t count) { return std::string(static_cast<size_t>(count), '0'); };
  if (point > kMostPlain || point < -kMostZeros) {
    out += digits[0];
    if (size > 1) out += cat(".", digits.substr(1));
    return cat(out, "e", point - 1);
  }
  if (point <= 0) return cat(out, "0.", zeros(-point), digits);
  if (point >= size) return cat(out, digits, zeros(point - size));
  const auto whole = static_cast<size_t>(point);
  return cat(out, digits.substr(0, whole), ".", digits.substr(whole));
}

}  // namespace espalier
