// Files of rows that name their values, read as tables of cells.
#pragma once

#include <string>

#include "data/column_profile.h"
#include "espalier/error.h"
#include "espalier/tables.h"
#include "format/csv_writer.h"

namespace espalier::fuzz {

// Reads the file as cells, where each value is one: written as CSV they read back the same.
inline void read_cells(const std::string& path) {
  try {
    const CsvTable table = read_table(path);
    const std::vector<int64_t> rows = all_rows(table), columns = all_columns(table);
    // An empty line may be no row of one column.
    if (columns.size() == 1) return;
    const CsvTable again =
        parse_csv(csv_text(table, rows, columns), {.delimiter = ',', .header = CsvHeader::kYes});
    if (again.names() != table.names() || again.rows() != table.rows())
      throw InternalError("a table of cells is another one as CSV");
    for (const int64_t row : rows) {
      for (const int64_t column : columns) {
        if (again.cell(row, column) != table.cell(row, column))
          throw InternalError("a cell is another one as CSV");
      }
    }
  } catch (const FormatError&) {
  }
}

}  // namespace espalier::fuzz
