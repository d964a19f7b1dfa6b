#include "base/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace espalier {
namespace {

std::string quoted_word(const std::string& word) {
  constexpr std::string_view kPlain = "-_./=:,+%@";
  const bool plain = std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += quoted_word(word);
  }
  return out;
}

}  // namespace espalier
