#include "base/shortened.h"

#include <algorithm>

namespace espalier {

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\r' || c == '\t')
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else
      out += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return out;
}

std::pair<uint32_t, size_t> beyond_ascii(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || text.size() < size) return {0, 0};
  uint32_t character = first & (0xff >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return {0, 0};
    character = character << 6 | (byte & 0x3f);
  }
  const bool too_long = character < (size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80);
  const bool half = character >= 0xd800 && character < 0xe000;
  if (too_long || half || character > 0x10ffff) return {0, 0};
  return {character, size};
}

bool is_seen(uint32_t character) {
  const auto from = [&](uint32_t first, uint32_t last) { return character >= first && character <= last; };
  return !from(0x80, 0x9f) && !from(0x200b, 0x206f) && character != 0xfeff;
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 40;
  size_t end = std::min(text.size(), kMost);
  const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (end < text.size() && end > 0 && continues(end)) --end;
  const std::string out = printable(text.substr(0, end));
  return end < text.size() ? out + "..." : out;
}

}  // namespace espalier
