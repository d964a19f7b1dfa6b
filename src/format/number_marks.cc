#include "format/number_marks.h"

#include <algorithm>

#include "base/digits.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr size_t kLongest = 64, kLongestUnit = 16, kGroup = 3;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// A sign, a currency's symbol or code, blanks: no words, as in "room 1.234".
bool may_stand_before(std::string_view text) {
  const auto letters = std::ranges::count_if(text, is_capital);
  return text.size() <= kLongestUnit && (letters == 0 || letters == 3) &&
         std::ranges::none_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

// Whether all of it is digits in groups of three between marks, of which there is one at least.
bool in_groups(std::string_view text, char mark) {
  size_t first = text.find(mark);
  if (first == text.npos || first == 0 || first > kGroup || text[0] == '0') return false;
  for (text.remove_prefix(first); !text.empty(); text.remove_prefix(kGroup + 1)) {
    if (text.size() <= kGroup || text[0] != mark ||
        !std::ranges::all_of(text.substr(1, kGroup), [](char c) { return is_digit(c); }))
      return false;
  }
  return true;
}

}  // namespace

void NumberMarks::look(std::string_view cell) {
  constexpr std::string_view kDigits = "0123456789";
  if (cell.empty()) return;
  ++cells_;
  if (cell.size() > kLongest) return;
  const size_t begin = cell.find_first_of(kDigits), last = cell.find_last_of(kDigits);
  if (begin == cell.npos) return;
  const std::string_view before = cell.substr(0, begin), behind = cell.substr(last + 1);
  const std::string_view number = cell.substr(begin, last + 1 - begin);
  if (number.find_first_not_of("0123456789.,") != number.npos) {
    // 1.5e-3
    const bool plain = parse_decimal(cell).has_value();
    numbers_ += plain;
    point_.decimal = point_.decimal || (plain && number.find('.') != number.npos);
    return;
  }
  if (!may_stand_before(before) || behind.size() > kLongestUnit) return;
  if (before.ends_with('.') || before.ends_with(',')) {  // .5
    ++numbers_;
    (before.ends_with('.') ? point_ : comma_).decimal = true;
    return;
  }
  const size_t mark_at = number.find_last_of(".,");
  if (mark_at == number.npos) {
    ++numbers_;
    if (number.size() > kGroup) return;
    int value = 0;
    for (const char c : number) value = 10 * value + (c - '0');
    several_small_ = several_small_ || (small_ >= 0 && small_ != value);
    small_ = value;
    return;
  }
  const char mark = number[mark_at], other = mark == '.' ? ',' : '.';
  Of &own = mark == '.' ? point_ : comma_, &others = mark == '.' ? comma_ : point_;
  const std::string_view whole = number.substr(0, mark_at);
  if (whole.find(other) != whole.npos) {  // 1.234,5
    if (!in_groups(whole, other)) return;
    own.decimal = others.groups = true;
  } else if (whole.find(mark) != whole.npos) {  // 1.234.567, and no date
    if (!in_groups(number, mark)) return;
    own.groups = true;
  } else if (in_groups(number, mark)) {
    if (!own.doubt) own.example = number;
    own.doubt = true;
  } else {
    own.decimal = true;
  }
  ++numbers_;
}

}  // namespace espalier
