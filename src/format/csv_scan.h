// Where the cells of a table in text are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"

namespace espalier {

// The delimiter among , ; tab | that parts the first lines into equally many cells, the most of them; else
// the most frequent one of the first line, and a comma without any.
char guess_delimiter(std::string_view text);

struct CsvCells {
  Buffer starts;  // u32, row by row, and one more; the character before the next start ends a cell
  size_t count = 0;
  int64_t columns = 0;
  const uint32_t* data() const { return reinterpret_cast<const uint32_t*>(starts.get()); }
};
// `text` ends with a line end. Doubled quotes are written as one, with blanks behind the closing quote
// instead. Raises FormatError[csv.columns], FormatError[csv.quote].
CsvCells scan_cells(std::string& text, char delimiter);

// Blanks around a cell are no part of it.
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace espalier
