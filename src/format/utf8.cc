#include "format/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace espalier {
namespace {

// Bytes of the character whose first byte begins `text`; 0 when it is malformed.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t words[4];
    if (text.size() >= sizeof words) {
      std::memcpy(words, text.data(), sizeof words);
      if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080) == 0) {
        text.remove_prefix(sizeof words);
        continue;
      }
    }
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string utf8_of_latin1(std::string_view bytes) {
  const auto high = std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0x80) != 0; });
  std::string out;
  out.reserve(bytes.size() + static_cast<size_t>(high));
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

}  // namespace espalier
