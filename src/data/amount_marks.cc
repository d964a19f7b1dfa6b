// Digits and marks of amounts in the characters of ASCII.
#include <algorithm>
#include <iterator>
#include <utility>

#include "data/column_steps.h"

namespace espalier {

bool has_high_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

std::string plain_marks(std::string_view text) {
  // Apostrophe, minus, no-break, narrow no-break, thin and figure space.
  constexpr std::pair<std::string_view, char> kMarks[] = {{"\xe2\x80\x99", '\''}, {"\xe2\x88\x92", '-'},
                                                          {"\xc2\xa0", ' '},      {"\xe2\x80\xaf", ' '},
                                                          {"\xe2\x80\x89", ' '},  {"\xe2\x80\x87", ' '}};
  std::string out;
  while (!text.empty()) {
    const auto* const mark = std::find_if(std::begin(kMarks), std::end(kMarks), [&](const auto& candidate) {
      return text.starts_with(candidate.first);
    });
    const bool found = mark != std::end(kMarks);
    out += found ? mark->second : text[0];
    text.remove_prefix(found ? mark->first.size() : 1);
  }
  return out;
}

std::string ascii_digits(std::string_view text) {
  // The zeros of scripts; nine digits follow each.
  constexpr std::string_view kZeros[] = {"\xd9\xa0", "\xdb\xb0", "\xe0\xa5\xa6", "\xe0\xa7\xa6"};
  // Arabic decimal point and mark of thousands, full-width yen, ideographic space.
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"\xd9\xab", "."}, {"\xd9\xac", ","}, {"\xef\xbf\xa5", "\xc2\xa5"}, {"\xe3\x80\x80", " "}};
  std::string out;
  // So many bytes are taken where they begin the text.
  const auto next = [&]() -> size_t {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
    // U+FF01 to U+FF1F are ! to ?.
    if (text.starts_with("\xef\xbc") && byte(2) >= 0x81 && byte(2) <= 0x9f) {
      out += static_cast<char>(byte(2) - 0x60);
      return 3;
    }
    for (const std::string_view zero : kZeros) {
      const size_t last = zero.size() - 1;
      const int digit = byte(last) - static_cast<unsigned char>(zero[last]);
      if (!text.starts_with(zero.substr(0, last)) || digit < 0 || digit > 9) continue;
      out += static_cast<char>('0' + digit);
      return zero.size();
    }
    for (const auto& [mark, plain] : kMarks) {
      if (!text.starts_with(mark)) continue;
      out += plain;
      return mark.size();
    }
    out += text[0];
    return 1;
  };
  while (!text.empty()) text.remove_prefix(next());
  return out;
}

int multiple_of(char letter) {
  switch (letter) {
    case 'K':
    case 'k':
      return 3;
    case 'M':
      return 6;
    case 'B':
    case 'G':
      return 9;
    case 'T':
      return 12;
    default:
      return 0;
  }
}

}  // namespace espalier
