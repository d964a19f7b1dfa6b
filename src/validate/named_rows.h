// Rows that name their values, of which each may have none, one or several of a name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "validate/row_values.h"

namespace espalier {

// Filled row by row, then read by any number of threads.
class NamedRows : public TableRows, public RowValues {
 public:
  // The most names of all rows of a table.
  static constexpr size_t kMostColumns = 100000;

  // Mistakes call a row `what` and its number: "record 3". `join` says which types go together in a column;
  // texts may have `text_bytes` bytes together.
  NamedRows(const char* what, JoinTypes join, size_t text_bytes);

  struct Column {
    struct Cell {
      uint32_t row = 0, end = 0;  // where its values end
    };
    std::string_view name = {};
    CellType type = CellType::kNone;
    int64_t first = 0;  // the number of the row that named it first
    std::vector<Cell> cells;
    std::vector<double> numbers;
    PlacedTexts texts;
  };

  void begin_row(int64_t number) override { numbers_.push_back(number); }
  void named(std::string_view name) override { column(name); }
  void present(std::string_view name) override;
  void type(CellType type) override;
  void whole(int64_t value) override { number(CellType::kInt, static_cast<double>(value)); }
  void real(double value, std::string_view) override { number(CellType::kFloat, value); }
  void real(float value) override { number(CellType::kFloat, value); }
  void text(std::string_view text) override;

  size_t rows() const override { return numbers_.size(); }
  std::string place(size_t row) const override;
  // Any column can be read as kText: numbers then are written with the fewest digits.
  CellType read(size_t column, std::string_view name, CellType type, CellBatch& out) const override;
  std::vector<Named> columns() const override;

 private:
  Column& column(std::string_view name);
  void number(CellType type, double value);

  const char* what_;
  JoinTypes join_;
  std::vector<int64_t> numbers_;  // of the rows
  std::map<std::string, Column, std::less<>> columns_;
  Column* present_ = nullptr;
  std::string texts_;  // never grows beyond what it has room for
};

// What to do about rows.type.
inline constexpr const char* kOneType =
    "null says that no value is there; `espalier data rows FILE --out rows.csv` makes texts of all of them";
// What a type is called in mistakes.
const char* name_of(CellType type);

}  // namespace espalier
