// Tables of numbers as text.
#pragma once

#include <string>

#include "ir/literal.h"

namespace espalier {

// A table without header (see espalier/csv.h), of numbers between commas. Gives f32[rows, columns]. Raises
// FormatError[csv.*] with line and cell for what is no number within f32's range.
Literal parse_csv_numbers(std::string text);
// The same from a file, plain or gzip; the message names the path.
Literal read_csv_numbers(const std::string& path);

}  // namespace espalier
