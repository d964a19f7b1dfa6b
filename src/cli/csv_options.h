// What the flags of tables say of a CSV.
#pragma once

#include <string>
#include <vector>

#include "cli/table_data.h"

namespace espalier::cli {

// `expected`: names that it may have. Raises ValueError[csv.delimiter].
CsvOptions csv_options(const TableFlags& flags, const std::vector<std::string>& expected = {});

}  // namespace espalier::cli
