// What a CsvTable keeps, and tables that come cell by cell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/csv.h"
#include "format/csv_scan.h"

namespace espalier {

struct CsvTable::Cells {
  std::string text;
  CsvCells index;
  std::vector<int64_t> lines = {};  // of each row; empty where line ends in the text tell them
};

// Starts of cells have 32 bits.
inline constexpr size_t kMostCsvBytes = 0xffffffff - 64;

// Rows of cells that are no piece of one text. Numbers are written plainly.
class CsvBuilder {
 public:
  // Raises ValueError[csv.names] for an empty name or one that is given twice.
  CsvBuilder(std::vector<std::string> names, size_t rows);
  // The next row, which stood in this line.
  void begin_row(int64_t line) { cells_->lines.push_back(line); }
  // Its next cell, without NUL. Raises FormatError[csv.size] beyond 4 GiB.
  void cell(std::string_view text);
  // All rows were begun, all cells are there.
  CsvTable table() &&;

 private:
  std::vector<std::string> names_;
  std::shared_ptr<CsvTable::Cells> cells_;
  size_t done_ = 0;
};

}  // namespace espalier
