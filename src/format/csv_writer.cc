#include "format/csv_writer.h"

#include <algorithm>

#include "base/shortest.h"

namespace espalier {

CsvWriter& CsvWriter::cell(std::string_view text) {
  if (row_begun_) text_ += delimiter_;
  row_begun_ = true;
  const bool blank_end = !text.empty() && (text.front() == ' ' || text.back() == ' ' ||
                                           text.front() == '\t' || text.back() == '\t');
  if (!blank_end && text.find(delimiter_) == std::string_view::npos &&
      text.find_first_of("\"\r\n") == std::string_view::npos) {
    text_ += text;
    return *this;
  }
  text_ += '"';
  for (const char c : text) text_.append(c == '"' ? 2 : 1, c);
  text_ += '"';
  return *this;
}
CsvWriter& CsvWriter::cell(double value) { return number(shortest(value)); }
CsvWriter& CsvWriter::cell(float value) { return number(shortest(value)); }

CsvWriter& CsvWriter::number(std::string text) {
  if (decimal_comma_) std::ranges::replace(text, '.', ',');
  return cell(text);
}

void CsvWriter::end_row() {
  // A line of nothing may be no row.
  if (text_.size() == row_) text_ += "\"\"";
  text_ += '\n';
  row_ = text_.size();
  row_begun_ = false;
}

std::string csv_text(const CsvTable& table, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     char delimiter) {
  CsvWriter out(delimiter);
  for (const int64_t column : columns) out.cell(table.names()[static_cast<size_t>(column)]);
  out.end_row();
  for (const int64_t row : rows) {
    for (const int64_t column : columns) out.cell(table.cell(row, column));
    out.end_row();
  }
  return out.text();
}

}  // namespace espalier
