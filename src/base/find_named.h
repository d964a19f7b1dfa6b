// Rows of a table by their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

// The row of `table` whose `name` is `word`. Raises throw_unknown's error when there is none.
template <class Table>
const auto& find_named(std::string_view rule, std::string_view what, std::string_view word,
                       const Table& table) {
  std::vector<std::string> known;
  for (const auto& row : table) {
    if (row.name == word) return row;
    known.emplace_back(row.name);
  }
  throw_unknown(rule, what, word, known);
}

}  // namespace espalier
