#include "base/shortened.h"

#include <algorithm>

namespace espalier {

std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return out;
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
