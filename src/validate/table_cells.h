// Rows that name their values, as a table of cells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "espalier/csv.h"
#include "validate/row_values.h"

namespace espalier {

class TableCells : public RowValues {
 public:
  // Mistakes call a row `what` and its number: "record 3".
  explicit TableCells(const char* what) : what_(what) {}

  void begin_row(int64_t number) override;
  void named(std::string_view name) override { column(name); }
  void present(std::string_view name) override;
  void type(CellType) override {}
  void whole(int64_t value) override;
  void real(double, std::string_view written) override { text(written); }
  void real(float value) override;
  void text(std::string_view text) override;

  // `sorted`: the columns by name; else in the order in which rows first name them. `bytes`: how many the
  // rows were written in. Raises FormatError[rows.empty], [rows.sparse], [csv.size].
  CsvTable table(bool sorted, size_t bytes) const;

 private:
  struct Column {
    std::string_view name;
    size_t last = 0;  // the number of rows when it was last present
  };
  struct Cell {
    uint32_t column;
    size_t end;  // in texts_
  };
  size_t column(std::string_view name);
  std::string place() const;

  const char* what_;
  std::unordered_map<std::string, size_t> places_;
  std::vector<Column> columns_;
  std::vector<int64_t> numbers_;  // of the rows
  std::vector<size_t> ends_;      // of the rows in cells_
  std::vector<Cell> cells_;
  std::string texts_;
  size_t column_ = 0;
  bool filled_ = false;  // the column has a value in this row
};

}  // namespace espalier
