// Tables as comma-separated text, written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "espalier/csv.h"

namespace espalier {

// Cells row by row, as RFC 4180 has them: in quotes where they hold a delimiter, a quote, a line end, or
// blanks at an end.
class CsvWriter {
 public:
  // `decimal_comma`: numbers have a comma for the point.
  explicit CsvWriter(char delimiter = ',', bool decimal_comma = false)
      : delimiter_(delimiter), decimal_comma_(decimal_comma) {}
  CsvWriter& cell(std::string_view text);
  // The shortest text that reads back to the same number.
  CsvWriter& cell(double value);
  CsvWriter& cell(float value);
  void end_row();
  const std::string& text() const { return text_; }

 private:
  CsvWriter& number(std::string text);

  std::string text_;
  char delimiter_;
  bool decimal_comma_;
  size_t row_ = 0;  // where it began
  bool row_begun_ = false;
};

// A line of names, then these rows.
std::string csv_text(const CsvTable& table, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     char delimiter = ',');

}  // namespace espalier
