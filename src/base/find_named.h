// Rows of a table by their names.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

// The row of `table` whose `name`, or one of whose `aliases` where rows have them, is `word`. Raises
// throw_unknown's error when there is none.
template <class Table>
const auto& find_named(std::string_view rule, std::string_view what, std::string_view word,
                       const Table& table) {
  std::vector<std::string> known;
  for (const auto& row : table) {
    if (row.name == word) return row;
    known.emplace_back(row.name);
    if constexpr (requires { row.aliases; }) {
      if (std::ranges::find(row.aliases, word) != row.aliases.end()) return row;
      known.insert(known.end(), row.aliases.begin(), row.aliases.end());
    }
  }
  throw_unknown(rule, what, word, known);
}

}  // namespace espalier
