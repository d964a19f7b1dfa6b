// A text's parts between marks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// All of them, empty ones too: one more than there are marks. They are of `text`.
inline std::vector<std::string_view> split_at(std::string_view text, char mark) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(mark, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Those that are not empty.
inline std::vector<std::string> names_at(std::string_view text, char mark) {
  std::vector<std::string> out;
  for (const std::string_view part : split_at(text, mark))
    if (!part.empty()) out.emplace_back(part);
  return out;
}

inline std::string joined(const std::vector<std::string>& names, char mark) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += mark;
    out += name;
  }
  return out;
}

inline std::string_view without_blanks_around(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace espalier
