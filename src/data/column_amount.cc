// Numbers as people write them.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/digits.h"
#include "base/format.h"
#include "base/shortest.h"
#include "data/column_steps.h"
#include "format/canonical_decimal.h"
#include "format/decimal.h"

namespace espalier {
namespace {

// Longer text than this is no amount.
constexpr size_t kLongest = 64;

bool is_letter(char c) { return (c & 0x80) != 0 || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<double> in_range(std::optional<double> value) {
  if (!value || std::fabs(*value) > std::numeric_limits<float>::max()) return std::nullopt;
  return *value;
}

// `text` without the marks between groups of three digits, and with a point for what stands for it. Empty
// when a mark stands elsewhere. Commas may part groups of two before the last one, as India has them:
// 12,34,567.
std::string plain_digits(std::string_view text, char mark, char point) {
  std::string out;
  const size_t whole_end = std::min(text.find_first_of(std::string{point, 'e', 'E'}), text.size());
  const size_t first_mark = std::min(text.find(mark), whole_end);
  const bool grouped = first_mark < whole_end;
  if (grouped && (first_mark == 0 || first_mark > 3 || text[0] == '0')) return {};
  const bool pairs = mark == ',' && first_mark < 3 && text.find(mark, first_mark + 1) == first_mark + 3;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == mark) {
      const size_t next = std::min(text.find(mark, i + 1), whole_end);
      if (i > whole_end || next != i + (pairs && next < whole_end ? 3 : 4)) return {};
    } else {
      out += text[i] == point ? '.' : text[i];
    }
  }
  return out;
}

// What is left of an amount without one sign or pair of parentheses and without one unit, in any order.
struct BareAmount {
  std::string_view digits;
  bool negative = false;
};
BareAmount bare_amount(std::string_view text, std::string_view unit) {
  bool has_sign = false, has_unit = unit.empty(), negative = false;
  for (;;) {
    text = trimmed(text);
    if (!has_sign && (text.starts_with('-') || text.starts_with('+'))) {
      negative = text[0] == '-';
      has_sign = true;
      text.remove_prefix(1);
    } else if (!has_sign && text.starts_with('(') && text.ends_with(')')) {
      negative = has_sign = true;
      text = text.substr(1, text.size() - 2);
    } else if (!has_unit && text.starts_with(unit)) {
      has_unit = true;
      text.remove_prefix(unit.size());
    } else if (!has_unit && text.ends_with(unit)) {
      has_unit = true;
      text.remove_suffix(unit.size());
    } else {
      return {text, negative};
    }
  }
}

// Those with letters before those that they end with.
constexpr std::string_view kSymbols[] = {"US$", "R$", "CA$", "C$", "AU$", "A$", "NZ$", "HK$", "NT$",
                                         "MX$", "S$", "$",   "€",  "£",   "¥",  "₹",   "₽", "₩",
                                         "₺",   "₫",  "₪",   "₱",  "₦",   "₴",  "฿",   "%"};
// ISO 4217, rupees and crowns. Other words in front of a number are names: "room 12".
constexpr std::string_view kCurrencies[] = {
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP",
    "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KRW", "MXN", "MYR", "NGN", "NOK", "NZD", "PHP", "PLN",
    "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD", "VND", "ZAR", "Rs.", "Rs",  "kr"};

// Letters, and behind the first one digits and what stands in units: kg, m², km/h, m3, Std.
bool is_unit_word(std::string_view text) {
  constexpr size_t kLongestUnit = 16;
  return !text.empty() && text.size() <= kLongestUnit && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '/' || c == '.' || c == '^' || c == '-';
         });
}

}  // namespace

bool is_symbol(std::string_view unit) {
  return std::find(std::begin(kSymbols), std::end(kSymbols), unit) != std::end(kSymbols);
}

std::string unit_of(std::string_view text) {
  if (text.size() > kLongest) return {};
  const std::string plain = ascii_digits(plain_marks(text));
  if (std::none_of(plain.begin(), plain.end(), is_digit)) return {};
  const std::string_view rest = bare_amount(plain, "").digits;
  for (const std::string_view unit : kSymbols) {
    if (rest.starts_with(unit) || rest.ends_with(unit)) return std::string(unit);
  }
  for (const std::string_view unit : kCurrencies) {
    if (rest.starts_with(unit)) return std::string(unit);
  }
  if (is_letter(rest[0])) return {};
  const auto begins_word = [&](size_t i) {
    const bool exponent = (rest[i] | 32) == 'e' && i + 1 < rest.size() &&
                          (is_digit(rest[i + 1]) || rest[i + 1] == '-' || rest[i + 1] == '+');
    return is_letter(rest[i]) && !exponent;
  };
  size_t begin = 0;
  while (begin < rest.size() && !begins_word(begin)) ++begin;
  return is_unit_word(rest.substr(begin)) ? std::string(rest.substr(begin)) : std::string();
}

namespace {

// What parse_decimal() is to read of an amount, without its sign: in `text`, or in `kept`. Empty for other
// text.
struct PlainAmount {
  std::string_view digits;
  bool negative = false;
};
PlainAmount plain_amount(std::string_view text, const NumberForm& form, std::string& kept) {
  struct Marks {
    char group, point;
  };
  constexpr Marks kMarks[] = {{0, '.'},   {',', '.'}, {'.', ','}, {'\'', '.'},
                              {' ', '.'}, {' ', ','}, {'\'', ','}};
  const auto [group, point] = kMarks[static_cast<size_t>(form.style)];
  if (text.size() <= kLongest && has_high_bytes(text)) text = kept = ascii_digits(plain_marks(text));
  const BareAmount amount = bare_amount(text, form.unit);
  std::string_view digits = amount.digits;
  if (digits.empty() || (!is_digit(digits[0]) && digits[0] != point)) return {};
  const int power = form.multiples ? multiple_of(digits.back()) : 0;
  if (group == 0 && power == 0) return {digits, amount.negative};
  if (digits.size() > kLongest) return {};
  if (power > 0) digits = trimmed(digits.substr(0, digits.size() - 1));
  std::string out = group == 0 ? std::string(digits) : plain_digits(digits, group, point);
  if (power > 0 && out.find_first_of("eE") != out.npos) return {};
  if (power > 0 && !out.empty()) out += cat("e", power);
  return {kept = std::move(out), amount.negative};
}

std::optional<double> value_of(const PlainAmount& amount) {
  if (amount.digits.empty()) return std::nullopt;
  const std::optional<double> value = parse_decimal(amount.digits);
  return in_range(value && amount.negative ? std::optional(-*value) : value);
}

}  // namespace

std::optional<double> read_number(std::string_view text, const NumberForm& form) {
  if (form.style == NumberStyle::kClock) return form.unit.empty() ? in_range(read_clock(text)) : std::nullopt;
  std::string kept;
  return value_of(plain_amount(text, form, kept));
}

std::optional<std::string> exact_number(std::string_view text, const NumberForm& form) {
  if (form.style == NumberStyle::kClock) {
    const std::optional<double> value = read_number(text, form);
    return value ? std::optional(shortest(*value)) : std::nullopt;
  }
  std::string kept;
  const PlainAmount amount = plain_amount(text, form, kept);
  if (!value_of(amount)) return std::nullopt;
  std::optional<std::string> out = canonical_decimal(amount.digits);
  if (out && amount.negative && *out != "0") out->insert(0, 1, '-');
  return out;
}

NumberStyle other_point(NumberStyle style) {
  constexpr NumberStyle kOthers[] = {NumberStyle::kDecimalComma,       NumberStyle::kDecimalComma,
                                     NumberStyle::kThousands,          NumberStyle::kApostrophesDecimalComma,
                                     NumberStyle::kSpacesDecimalComma, NumberStyle::kSpaces,
                                     NumberStyle::kApostrophes,        NumberStyle::kClock};
  return kOthers[static_cast<size_t>(style)];
}

bool has_decimal_comma(NumberStyle style) {
  return style == NumberStyle::kDecimalComma || style == NumberStyle::kSpacesDecimalComma ||
         style == NumberStyle::kApostrophesDecimalComma;
}

bool shows_other_point(std::string_view text, const NumberForm& form) {
  if (read_number(text, form) || !read_number(text, {other_point(form.style), form.unit, form.multiples}))
    return false;
  // 1,234 among plain numbers may count thousands.
  return form.style != NumberStyle::kPlain || !read_number(text, {NumberStyle::kThousands, form.unit});
}

bool is_whole(std::string_view text, const NumberForm& form) {
  const std::optional<double> value = read_number(text, form);
  return value && *value == std::floor(*value);
}

bool lacks_unit(std::string_view text, const NumberForm& form) {
  if (form.unit.empty()) return false;
  const std::optional<double> bare = read_number(text, {form.style, "", form.multiples});
  return bare && *bare != 0;
}

}  // namespace espalier
