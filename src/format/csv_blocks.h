// Tables as text of any size, some lines at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/csv.h"
#include "format/byte_source.h"
#include "format/csv_scan.h"

namespace espalier {

// Some whole rows: text that ends with a line end.
struct CsvBlock {
  std::string text;
  int64_t first_line = 1;  // of the file, from 1
  bool ascii = false;      // it is known to be
  bool bare = false;       // it is known that there are neither blanks nor quotes
};

// A file cut behind ends of rows, into blocks of one size but for the last and where a row is longer. Where
// it is cut depends on the file alone. Delimiter, names and header are found as parse_csv() finds them in the
// first block; cells keep their bytes, whether they are UTF-8 or not, but for numbers with a comma for the
// point, or points between thousands, which are written plainly. Not thread-safe.
class CsvBlocks {
 public:
  // Raises IoError, FormatError[csv.*], ValueError[csv.*] as parse_csv().
  CsvBlocks(std::unique_ptr<ByteSource> source, const CsvOptions& options, size_t block = size_t{1} << 20);

  const std::vector<std::string>& names() const { return names_; }
  bool had_header() const { return had_header_; }
  const std::vector<std::string>& notes() const { return notes_; }
  char delimiter() const { return delimiter_; }
  // As in CsvTable, where no comma is between cells; plain where one is.
  const CsvNumbers& numbers() const { return numbers_; }
  // Cells of a row: as many as names, or one more, which is empty.
  int64_t cells() const { return cells_; }

  // The next rows; nothing at the end. The text that `out` has is written over, without setting its bytes
  // before. Raises FormatError[csv.quote], [csv.line] for a row beyond 16 MiB, [csv.nul]; then what was read
  // is lost.
  bool next(CsvBlock& out);

 private:
  bool cut(CsvBlock& out);
  void fill(std::string& text, size_t held, size_t size);
  void refuse_nul(std::string_view text, size_t from) const;
  void begin(CsvBlock& first, const CsvOptions& options);

  std::unique_ptr<ByteSource> source_;
  size_t block_;
  std::string rest_;  // begins with a row
  int64_t line_ = 1;  // where it does
  bool ended_ = false;
  CsvBlock first_;
  bool has_first_ = false;
  std::vector<std::string> names_, notes_;
  bool had_header_ = false;
  CsvNumbers numbers_;
  char delimiter_ = ',';
  int64_t cells_ = 0;
};

// The cells of a block.
class CsvRows {
 public:
  // Raises FormatError[csv.columns], [csv.quote] with lines of the file.
  CsvRows(CsvBlock block, const CsvBlocks& table);

  int64_t rows() const { return static_cast<int64_t>(cells_.count) / cells_.columns; }
  // All bytes between two delimiters.
  const char* begin(int64_t row, int64_t column) const { return text_.data() + start(row, column)[0]; }
  const char* end(int64_t row, int64_t column) const { return text_.data() + start(row, column)[1] - 1; }
  const char* origin() const { return text_.data(); }
  size_t size() const { return text_.size(); }
  // Where the cells of a column begin in the text, `stride` apart; what follows each is where the next cell
  // does.
  const uint32_t* starts(int64_t column) const { return cells_.data() + column; }
  size_t stride() const { return static_cast<size_t>(cells_.columns); }
  // Whether all cells are UTF-8.
  bool utf8() const { return utf8_; }
  // It is known that no cell has blanks or quotes around it.
  bool bare() const { return bare_; }
  // Without blanks and quotes around it.
  std::string_view cell(int64_t row, int64_t column) const {
    return trimmed_cell(begin(row, column), end(row, column));
  }
  // The line of the file, from 1, in which a row begins.
  int64_t line(int64_t row) const;
  // The text, for its memory. REQUIRES: nothing is asked for then.
  std::string release() { return std::move(text_); }

 private:
  void write_plainly(const CsvNumbers& numbers, int64_t columns);
  const uint32_t* start(int64_t row, int64_t column) const {
    return cells_.data() + row * cells_.columns + column;
  }
  std::string text_;
  bool utf8_;
  int64_t first_line_;
  char delimiter_;
  CsvCells cells_;
  bool bare_;
};

}  // namespace espalier
