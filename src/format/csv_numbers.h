// Tables of numbers as text.
#pragma once

#include <string>

#include "espalier/csv.h"
#include "ir/literal.h"

namespace espalier {

// f32[rows, columns] of a table of numbers. Raises FormatError[csv.number] with line and cell for what is no
// number within f32's range.
Literal csv_numbers(const CsvTable& table);
// The same of text without header, between commas. Raises FormatError[csv.*] (see espalier/csv.h).
Literal parse_csv_numbers(std::string text);
// The same from a file, plain or gzip; the message names the path.
Literal read_csv_numbers(const std::string& path);

}  // namespace espalier
