// Slices for those who name none.
#pragma once

#include <string>
#include <vector>

#include "cli/slice_flags.h"

namespace espalier::cli {

struct ChosenSlices {
  SliceFlags flags;
  std::vector<std::string> reasons;  // why each column was chosen, a line each
};
// At most two columns of these rows of the table, other than `others`, that part them well: first those that
// likely tell who a row is about, then others of few values. Numbers are put into buckets.
ChosenSlices choose_slices(const CsvTable& table, const std::vector<int64_t>& rows,
                           const std::vector<std::string>& others);

// Columns that likely tell who a row is about, by their names or the values of the first rows.
std::vector<std::string> sensitive_columns(const CsvTable& table);

}  // namespace espalier::cli
