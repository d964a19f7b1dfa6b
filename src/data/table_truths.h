// Conditions on the rows of a table whose cells are read as column programs read them.
#pragma once

#include <string>
#include <vector>

#include "espalier/csv.h"
#include "format/expression.h"

namespace espalier {

// [rows]. A column whose cells are all amounts in one form, "$ 1,200", meets numbers as such, and one of
// dates with the day or the month first meets "2024-01-31". Raises ValueError: expression.*; expression.date
// also where no day is above 12, so that dates can be read in two ways.
std::vector<Truth> table_truths(const Expression& condition, const CsvTable& table,
                                const std::vector<std::string>& missing_words);

}  // namespace espalier
