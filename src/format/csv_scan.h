// Where the cells of a table in text are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"

namespace espalier {

// What to do about csv.quote.
inline constexpr const char* kQuotes =
    "close it, or one in the rows before that has no end; a quote that is text within quotes is written "
    "twice";

// "line 3, column 7" of a byte.
std::string csv_place(std::string_view text, size_t offset, int64_t first_line);
// Raises FormatError[csv.spreadsheet], [csv.zip], [csv.kind] for files that people take for tables of text.
void refuse_other_kinds(std::string_view bytes);
// The delimiter among , ; tab | that parts the first lines, but for a title, into equally many cells, the
// most of them; else the most frequent one of the first line, and a comma without any.
char guess_delimiter(std::string_view text);
// The bytes of a title with its line end: one to five lines of one cell over lines of several cells that
// agree. 0 without one.
size_t title_size(std::string_view text, char delimiter);

struct CsvCells {
  Buffer starts;  // u32, row by row, and one more; the character before the next start ends a cell
  size_t count = 0;
  int64_t columns = 0;
  bool blank_lines = false;  // NULs were written before cells
  const uint32_t* data() const { return reinterpret_cast<const uint32_t*>(starts.get()); }
};
// What the scanner of a piece of a larger text is told.
struct CsvPlace {
  int64_t first_line = 1;  // of the text, for messages
  int64_t columns = 0;     // that every line must have; 0: as many as the first
};
// `text` ends with a line end and holds no NUL. Doubled quotes are written as one, with blanks behind the
// closing quote instead. A line of blanks alone is no row, but for those of a table of one column: its end
// becomes a NUL, a blank before the next cell. Raises FormatError[csv.columns], FormatError[csv.quote].
CsvCells scan_cells(std::string& text, char delimiter, const CsvPlace& place = {});

// Blanks around a cell are no part of it.
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\0'; }
// What a scanned cell holds, without blanks and quotes around it.
inline std::string_view trimmed_cell(const char* begin, const char* end) {
  while (begin != end && is_blank(*begin)) ++begin;
  while (begin != end && is_blank(end[-1])) --end;
  if (begin != end && *begin == '"') {
    ++begin;
    --end;
  }
  return {begin, static_cast<size_t>(end - begin)};
}
// The number, from 1, of the line in which the byte at `offset` stands, in a text that was scanned or not.
int64_t line_of(std::string_view text, size_t offset);

}  // namespace espalier
