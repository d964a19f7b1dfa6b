// What spellings of a word have in common, and in what they differ.
#include <cstdio>
#include <unordered_map>

#include "base/format.h"
#include "data/column_steps.h"
#include "format/look_alike.h"

namespace espalier {
namespace {

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return text;
}

// "U+0061 U+0308": the characters of a text from byte `begin` to `end`.
std::string codes_of(std::string_view text, size_t begin, size_t end) {
  constexpr int kMost = 3;
  std::string out;
  int shown = 0;
  while (begin < end && shown < kMost) {
    const auto lead = static_cast<uint8_t>(text[begin]);
    const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t i = begin + 1; i < begin + size && i < text.size(); ++i)
      code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3f);
    char word[16];
    std::snprintf(word, sizeof word, "U+%04X", code);
    out += cat(out.empty() ? "" : " ", word);
    begin += size;
    ++shown;
  }
  return out.empty() ? "nothing" : out;
}

bool continues(std::string_view text, size_t at) { return at < text.size() && (text[at] & 0xc0) == 0x80; }

}  // namespace

std::string spelling_key(std::string_view text) { return without_blanks(look_alike_key(plain_marks(text))); }

std::vector<std::pair<std::string_view, std::string_view>> same_spellings(
    const std::vector<std::string_view>& texts) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  std::unordered_map<std::string, std::string_view> firsts;
  for (const std::string_view text : texts) {
    const auto [first, fresh] = firsts.emplace(spelling_key(text), text);
    if (!fresh) out.emplace_back(first->second, text);
  }
  return out;
}

std::string spelling_difference(std::string_view a, std::string_view b) {
  if (look_alike_form(a) != look_alike_form(b)) return "capitals or blanks";
  size_t begin = 0, of_a = a.size(), of_b = b.size();
  while (begin < a.size() && begin < b.size() && a[begin] == b[begin]) ++begin;
  while (begin > 0 && (continues(a, begin) || continues(b, begin))) --begin;
  while (of_a > begin && of_b > begin && a[of_a - 1] == b[of_b - 1]) --of_a, --of_b;
  while (continues(a, of_a) || continues(b, of_b)) ++of_a, ++of_b;
  return cat("the codes of characters that look alike (", codes_of(a, begin, of_a), " and ",
             codes_of(b, begin, of_b), ")");
}

}  // namespace espalier
