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

void append_code_point(std::string& out, uint32_t character) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xc0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xe0 | character >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Whether the first bytes look like UTF-16 whose high bytes stand at `high`, 0 or 1, of each pair: a quarter
// of them NUL, none of the others, and a line end among them.
bool looks_like_utf16(std::string_view bytes, size_t high) {
  constexpr size_t kLooked = 4096;
  const size_t units = std::min(bytes.size(), kLooked) / 2;
  size_t latin = 0, line_ends = 0;
  for (size_t i = 0; i < units; ++i) {
    const char first = bytes[2 * i + high], second = bytes[2 * i + 1 - high];
    if (second == '\0') return false;
    latin += first == '\0';
    line_ends += first == '\0' && second == '\n';
  }
  return line_ends > 0 && 4 * latin >= units;
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
    words[0] = 0;
    const size_t next = std::min(text.size(), sizeof words[0]);
    std::memcpy(words, text.data(), next);
    if ((words[0] & 0x8080808080808080) == 0) {
      text.remove_prefix(next);
      continue;
    }
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

Utf8Survey survey_utf8(std::string_view text) {
  constexpr size_t kPlaces = 64;
  Utf8Survey out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text.substr(at));
    out.characters += size > 1;
    if (size == 0 && out.broken++ < kPlaces) out.places.push_back(at);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

std::string mended_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text.substr(at));
    out += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

std::string utf8_of_windows1252(std::string_view bytes) {
  constexpr uint16_t kHigh[32] = {0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                  0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d,   0x017d, 0x8f,
                                  0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                  0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
  const auto high = std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0x80) != 0; });
  std::string out;
  out.reserve(bytes.size() + 2 * static_cast<size_t>(high));
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    append_code_point(out, byte >= 0x80 && byte < 0xa0 ? kHigh[byte - 0x80] : byte);
  }
  return out;
}

std::optional<std::string> utf8_of_utf16(std::string_view bytes) {
  const bool little_mark = bytes.starts_with("\xff\xfe"), big_mark = bytes.starts_with("\xfe\xff");
  const bool little = little_mark || (!big_mark && looks_like_utf16(bytes, 1));
  if (!little && !big_mark && !looks_like_utf16(bytes, 0)) return std::nullopt;
  if (little_mark || big_mark) bytes.remove_prefix(2);
  const size_t units = bytes.size() / 2;
  const auto unit = [&](size_t i) {
    const auto first = static_cast<uint8_t>(bytes[2 * i]), second = static_cast<uint8_t>(bytes[2 * i + 1]);
    return static_cast<uint32_t>(little ? second << 8 | first : first << 8 | second);
  };
  std::string out;
  out.reserve(units);
  for (size_t i = 0; i < units; ++i) {
    const uint32_t value = unit(i);
    const bool high = value >= 0xd800 && value < 0xdc00, low = value >= 0xdc00 && value < 0xe000;
    const uint32_t next = high && i + 1 < units ? unit(i + 1) : 0;
    if (next >= 0xdc00 && next < 0xe000) {
      append_code_point(out, 0x10000 + ((value - 0xd800) << 10) + (next - 0xdc00));
      ++i;
    } else {
      append_code_point(out, high || low ? 0xfffd : value);
    }
  }
  return out;
}

}  // namespace espalier
