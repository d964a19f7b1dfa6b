// Tables of numbers as text.
#pragma once

#include <string>

#include "espalier/csv.h"
#include "ir/literal.h"

namespace espalier {

// f32[rows, columns] of a table of numbers, each the nearest f32. Raises FormatError with line and cell:
// [csv.number] for what is no number within f32's range, [csv.exact] for a whole number that f32 does not
// hold exactly, as 16777217: it may be an identifier or a label, and another number is another row. Numbers
// with a fraction or an exponent are measured, and rounded.
Literal csv_numbers(const CsvTable& table);
// The same of text without header, between commas. Raises FormatError[csv.*] (see espalier/csv.h).
Literal parse_csv_numbers(std::string text);
// The same from a file, plain or gzip; the message names the path.
Literal read_csv_numbers(const std::string& path);

}  // namespace espalier
