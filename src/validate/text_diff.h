// What differs between two texts, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct TextChange {
  size_t line = 0;  // of the text before, from 1, where it begins
  std::vector<std::string> removed, added;
};
// As few lines as can be, in order. Beyond some thousand lines that differ, a change may hold more than it
// must.
std::vector<TextChange> text_changes(std::string_view before, std::string_view after);

// As `diff --unified=context` writes it, without the lines that name the files; "" for equal texts.
std::string unified_diff(std::string_view before, std::string_view after, size_t context = 3);

}  // namespace espalier
