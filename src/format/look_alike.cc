#include "format/look_alike.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace espalier {
namespace {

std::string small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; });
  return out;
}

// Whether a character is shown as those that Unicode's compatibility decomposition has for it.
bool is_shown_as_its_parts(utf8proc_int32_t character) {
  switch (utf8proc_get_property(character)->decomp_type) {
    case UTF8PROC_DECOMP_TYPE_FONT:
    case UTF8PROC_DECOMP_TYPE_NOBREAK:
    case UTF8PROC_DECOMP_TYPE_INITIAL:
    case UTF8PROC_DECOMP_TYPE_MEDIAL:
    case UTF8PROC_DECOMP_TYPE_FINAL:
    case UTF8PROC_DECOMP_TYPE_ISOLATED:
    case UTF8PROC_DECOMP_TYPE_VERTICAL:
    case UTF8PROC_DECOMP_TYPE_WIDE:
    case UTF8PROC_DECOMP_TYPE_NARROW:
    case UTF8PROC_DECOMP_TYPE_SMALL:
    case UTF8PROC_DECOMP_TYPE_COMPAT:
      return true;
    default:
      return false;
  }
}

void append_character(std::string& out, utf8proc_int32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size = utf8proc_encode_char(character, bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

// False where it is no UTF-8.
bool with_parts(std::string_view text, std::string& out) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (auto left = static_cast<utf8proc_ssize_t>(text.size()); left > 0;) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(at, left, &character);
    if (size < 1) return false;
    at += size;
    left -= size;
    if (!is_shown_as_its_parts(character)) {
      append_character(out, character);
      continue;
    }
    std::array<utf8proc_int32_t, 32> parts;
    int last_class = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        character, parts.data(), parts.size(),
        static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &last_class);
    if (count < 1 || count > std::ssize(parts)) {
      append_character(out, character);
      continue;
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) append_character(out, parts[static_cast<size_t>(i)]);
  }
  return true;
}

std::string mapped(std::string_view text, bool fold) {
  if (std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; }))
    return fold ? small_letters(text) : std::string(text);
  std::string parts;
  if (!with_parts(text, parts)) return fold ? small_letters(text) : std::string(text);
  int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_IGNORE;
  if (fold) options |= UTF8PROC_CASEFOLD;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(parts.data()),
                                             static_cast<utf8proc_ssize_t>(parts.size()), &made,
                                             static_cast<utf8proc_option_t>(options));
  if (size < 0) return fold ? small_letters(text) : std::string(text);
  std::string out(reinterpret_cast<const char*>(made), static_cast<size_t>(size));
  std::free(made);
  return out;
}

}  // namespace

std::string look_alike_key(std::string_view text) { return mapped(text, true); }
std::string look_alike_form(std::string_view text) { return mapped(text, false); }

}  // namespace espalier
