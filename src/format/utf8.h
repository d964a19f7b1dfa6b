// UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// Whether `text` is well-formed: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);
// Each byte of Windows-1252, of ISO 8859-1 where that has none, as the character it stands for.
// https://encoding.spec.whatwg.org/index-windows-1252.txt
std::string utf8_of_windows1252(std::string_view bytes);

// UTF-16 of either order, without the byte order mark; half a pair of surrogates is U+FFFD. Without a mark it
// is known by the NUL bytes of its line ends and of a quarter of its first characters. Nothing for other
// text.
std::optional<std::string> utf8_of_utf16(std::string_view bytes);

}  // namespace espalier
