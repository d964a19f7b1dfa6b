// Labels that end in a dot, as in UCI's adult.test.
#pragma once

#include <string>

#include "espalier/csv.h"

namespace espalier {

// The table, where labels "x." are "x": ColumnOptions::strip_label_dots for what asks of cells. A table
// without a column of this name is as it is.
CsvTable without_label_dots(const CsvTable& table, const std::string& label);

}  // namespace espalier
