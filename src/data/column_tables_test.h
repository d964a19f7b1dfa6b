// Small tables for the tests of column programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/format.h"
#include "data/column_profile.h"
#include "espalier/columns.h"

namespace espalier {

inline ColumnProgram fit_all(const CsvTable& table, const ColumnOptions& options) {
  return ColumnProgram::fit(table, all_rows(table), options);
}

// What is noted about a column, one line after the other.
inline std::string noted(const ColumnProgram& program, const std::string& column) {
  std::string out;
  for (const Note& note : program.notes()) {
    if (note.column == column) out += cat(out.empty() ? "" : "\n", note.text);
  }
  return out;
}

// A table of 40 rows: column x as given, z = 0.5 i, and y, which is "a" and "b" in a pattern of its own.
inline CsvTable table_of(const std::string& name, const std::function<std::string(int)>& x, int rows = 40) {
  std::string text = cat(name, ",z,y\n");
  for (int i = 0; i < rows; ++i)
    text += cat("\"", x(i), "\",", i / 2, i % 2 ? ".5," : ".0,", i * i % 7 < 3 ? "a\n" : "b\n");
  return parse_csv(text);
}

}  // namespace espalier
