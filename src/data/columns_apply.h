// Where a column program finds its columns in a table.
#pragma once

#include <span>
#include <vector>

#include "data/column_steps.h"

namespace espalier {

// Raises ValueError[columns.rows] for a row outside of the table.
void check_rows(const CsvTable& table, std::span<const int64_t> rows);

// The columns of the steps, and -1 or the label's. Raises ValueError[csv.column], ValueError[columns.count].
struct ColumnPlaces {
  std::vector<int64_t> inputs;
  int64_t label = -1;
};
ColumnPlaces find_columns(const ColumnProgram::Data& data, const CsvTable& table, bool inputs);

}  // namespace espalier
