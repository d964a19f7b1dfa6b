#include "data/label_dots.h"

#include <algorithm>

namespace espalier {

CsvTable without_label_dots(const CsvTable& table, const std::string& label) {
  if (!std::ranges::count(table.names(), label)) return table;
  const int64_t column = table.column(label);
  std::vector<CsvChange> changes;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const std::string_view text = table.cell(row, column);
    if (text.size() > 1 && text.ends_with('.'))
      changes.push_back({row, column, std::string(text.substr(0, text.size() - 1))});
  }
  return table.with_cells(changes);
}

}  // namespace espalier
