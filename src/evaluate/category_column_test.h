// Columns of categories, from cells.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "evaluate/slices.h"

namespace espalier {

// Values in the order in which they come first.
inline CategoryColumn column_of(const std::string& name, const std::vector<std::string>& cells) {
  CategoryColumn out{name, {}, {}};
  for (const std::string& cell : cells) {
    const auto found = std::ranges::find(out.values, cell);
    out.codes.push_back(static_cast<uint32_t>(found - out.values.begin()));
    if (found == out.values.end()) out.values.push_back(cell);
  }
  return out;
}

}  // namespace espalier
