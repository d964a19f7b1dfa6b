// Conditions that tell nobody of a few people alone.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/csv.h"
#include "format/expression.h"

namespace espalier {

// Expression::canonical() with "(rare)" for each text that fewer than k rows have in one of the columns that
// it meets. Bounds that are dates stay, as numbers do: they name no row. REQUIRES: the table has its columns.
std::string without_rare_texts(const Expression& condition, const CsvTable& table, int64_t k);

}  // namespace espalier
