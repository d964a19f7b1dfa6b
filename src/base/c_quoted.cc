#include "base/c_quoted.h"

#include <cstdio>

#include "base/shortened.h"

namespace espalier {
namespace {

// "\012".
std::string octal(unsigned char byte) {
  char out[8];
  std::snprintf(out, sizeof out, "\\%03o", byte);
  return out;
}

// What stands for one byte, behind `last`.
std::string c_spelled(unsigned char byte, char last) {
  const char c = static_cast<char>(byte);
  switch (c) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '"':
    case '\\':
      return {'\\', c};
    default:
      break;
  }
  if (last == '?' && c == '?') return "\\?";
  const bool comment = (last == '*' && c == '/') || (last == '/' && c == '*');
  return comment || byte < ' ' || byte > '~' ? octal(byte) : std::string(1, c);
}

}  // namespace

std::string c_quoted(std::string_view text) {
  std::string out = "\"";
  char last = ' ';
  while (!text.empty()) {
    const auto [character, size] = beyond_ascii(text);
    const size_t bytes = size && is_seen(character) ? size : 1;
    out +=
        bytes > 1 ? std::string(text.substr(0, bytes)) : c_spelled(static_cast<unsigned char>(text[0]), last);
    last = text[bytes - 1];
    text.remove_prefix(bytes);
  }
  return out + "\"";
}

}  // namespace espalier
