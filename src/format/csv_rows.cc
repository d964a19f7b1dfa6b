// Tables made in memory, and of some rows of another.
#include "base/format.h"
#include "format/csv_cells.h"

namespace espalier {

CsvTable make_table(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
                    Location at) {
  const CallScope scope(at);
  CsvBuilder out(names, rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].size() != names.size())
      throw ValueError("csv.columns", cat("row ", row, " has ", rows[row].size(), " cells, and there are ",
                                          names.size(), " names"));
    out.begin_row(static_cast<int64_t>(row) + 1);
    for (size_t column = 0; column < names.size(); ++column) {
      const std::string& cell = rows[row][column];
      if (cell.find('\0') != std::string::npos)
        throw ValueError("csv.nul", cat("row ", row, ", \"", names[column], "\": the cell holds a NUL byte"));
      out.cell(cell);
    }
  }
  return std::move(out).table();
}

CsvTable CsvTable::with_rows(std::span<const int64_t> rows, Location at) const {
  const CallScope scope(at);
  CsvBuilder out(names_, rows.size());
  for (const int64_t row : rows) {
    if (row < 0 || row >= rows_)
      throw ValueError("csv.rows", cat("row ", row, " of a table of ", rows_, " rows"));
    out.begin_row(line(row));
    for (int64_t column = 0; column < columns_; ++column) out.cell(cell(row, column));
  }
  CsvTable table = std::move(out).table();
  table.numbered_ = numbered_;
  table.numbers_ = numbers_;
  table.delimiter_ = delimiter_;
  table.notes_ = notes_;
  return table;
}

}  // namespace espalier
