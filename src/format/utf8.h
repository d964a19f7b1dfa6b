// UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Whether `text` is well-formed: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);
// Of a text that is not well-formed: what is.
struct Utf8Survey {
  size_t characters = 0;            // of two bytes or more
  size_t broken = 0;                // bytes that are of no character
  std::vector<size_t> places = {};  // of the first 64 of these
};
Utf8Survey survey_utf8(std::string_view text);
// U+FFFD for each byte that is of no character.
std::string mended_utf8(std::string_view text);
// Each byte of Windows-1252, of ISO 8859-1 where that has none, as the character it stands for.
// https://encoding.spec.whatwg.org/index-windows-1252.txt
std::string utf8_of_windows1252(std::string_view bytes);

// UTF-16 of either order, without the byte order mark; half a pair of surrogates is U+FFFD. Without a mark it
// is known by the NUL bytes of its line ends and of a quarter of its first characters. Nothing for other
// text.
std::optional<std::string> utf8_of_utf16(std::string_view bytes);

}  // namespace espalier
