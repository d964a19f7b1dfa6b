// Rows of a table by their names and aliases.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

// The row of `table` that `word` names. Raises throw_unknown's error when there is none.
template <class Table>
const auto& find_aliased(std::string_view rule, std::string_view what, std::string_view word,
                         const Table& table) {
  std::vector<std::string> known;
  for (const auto& row : table) {
    if (row.name == word || std::ranges::count(row.aliases, word) > 0) return row;
    known.emplace_back(row.name);
    known.insert(known.end(), row.aliases.begin(), row.aliases.end());
  }
  throw_unknown(rule, what, word, known);
}

}  // namespace espalier
