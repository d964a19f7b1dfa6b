#include "validate/text_values.h"

#include <charconv>
#include <limits>

namespace espalier {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  // One sign at most: a minus behind the plus would be read on.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<int64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<float> real_number(std::string_view text) {
  text = trimmed(text);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // Beyond a float's range: nearer to zero than any, or further away.
  long double wide = 0;
  const auto wider = std::from_chars(text.data(), end, wide);
  const bool tiny = wider.ec == std::errc() ? wide > -1 && wide < 1
                                            : text.find("e-") != text.npos || text.find("E-") != text.npos;
  const float size = tiny ? 0.0F : std::numeric_limits<float>::infinity();
  return text[0] == '-' ? -size : size;
}

}  // namespace espalier
