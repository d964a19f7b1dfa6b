// Tables of numbers as text.
#pragma once

#include <string_view>

#include "ir/literal.h"

namespace espalier {

// Lines of numbers between commas, without header; empty lines at the end are ignored. Gives f32[rows,
// columns]. Raises FormatError[csv.*] with line and column for what is not a number and for lines of another
// length.
Literal parse_csv_numbers(std::string_view text);
// The same from a file, plain or gzip; the message names the path.
Literal read_csv_numbers(const std::string& path);

}  // namespace espalier
