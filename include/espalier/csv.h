// Tables as text: comma-separated values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/error.h"

namespace espalier {

enum class CsvHeader { kGuess, kYes, kNo };

struct CsvOptions {
  // 0 guesses among , ; tab |: the one that parts the first lines into equally many cells, the most of them.
  char delimiter = 0;
  // Whether the first line holds names. The guess: none of its cells is a number, or empty over cells that
  // are not (but for the first), and a name stands over a column of numbers, or none of its cells occurs in
  // its column below. A thousand lines are looked at.
  CsvHeader header = CsvHeader::kGuess;
  // Names that columns may have: a first line of these alone is a header, whatever it looks like.
  std::vector<std::string> expected = {};
  // Names of the columns, as many as there are; a header's own are then passed over.
  std::vector<std::string> names = {};
  // The decimal sign, '.' or ','; the other one then stands between thousands. 0: the cells tell, see
  // CsvNumbers.
  char decimal = 0;
  // The same where cells do not tell: that of rows that were read before, as those a model was trained on.
  char decimal_in_doubt = 0;
  // Of somebody who goes on to read the lines: those that repeat the names count as rows, and nothing is said
  // of bytes that are no UTF-8.
  bool as_written = false;
};

// How a table writes its numbers, where not plainly.
//
// 48.430 between semicolons, and 48,430 elsewhere, may be 48430 or 48.43. The column tells where it has
// 1.234.567, or several numbers below 1000 without a mark: thousands. Else other columns do: decimals of
// either sign, 12.5 or 12,5. Where nothing tells, or columns contradict each other, it is 48430, and notes()
// say so.
struct CsvNumbers {
  // A comma for the point: among the first thousand lines some have one, and none a point other than between
  // thousands. 1,234 is such a number between semicolons alone; elsewhere the comma may group thousands.
  bool decimal_comma = false;
  // [columns] Points between thousands: the column has points before three digits and no others, between
  // semicolons alone, and they are no decimals. Empty when no column has them.
  std::vector<bool> grouped = {};
  // The decimal sign, '.' or ',': that of CsvOptions, or what cells tell, or what is taken where they do not;
  // 0 where there is none to be seen, or both are.
  char point = 0;
  bool told = false;  // by CsvOptions::decimal

  bool plain() const { return !decimal_comma && grouped.empty(); }
  // The number in a cell with a point for its comma and nothing between thousands; nothing for other text,
  // and where the cell is written so.
  std::optional<std::string> plain_number(std::string_view cell, int64_t column) const;
};

// What a cell is to hold.
struct CsvChange {
  int64_t row = 0, column = 0;  // from 0
  std::string text = {};        // of one line
};

// Rows of cells, each a piece of text. Immutable; copies share.
//
// Cells follow RFC 4180: lines end in \n or \r\n; a cell in quotes may hold delimiters, line ends and doubled
// quotes. Besides: blanks around cells are no part of them, a byte order mark is skipped, and so are empty
// lines at the end and, in a table of two columns or more, everywhere; UTF-16, with its byte order mark or
// known by its NUL bytes, is read as such. Of other text in which bytes are no UTF-8 these are U+FFFD, and
// notes() name their lines; where they outnumber its characters of several bytes it is taken for
// Windows-1252. A first line "sep=;" names the delimiter, as Excel writes it, and is no row. An empty name is
// column_<number, from 1>, and so are all names of a table without header; a name that stood before gets a
// number: x, x_2.
//
// Unless CsvHeader::kNo says that every line is a row, a title is passed over, one to five lines of one cell
// over lines of several cells that agree; and so is an empty last column without a name, where every line
// ends in a delimiter. notes() say so.
class CsvTable {
 public:
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  const std::vector<std::string>& names() const { return names_; }
  // Whether the first line was taken for names.
  bool had_header() const { return first_ != 0; }
  // Whether the names are invented: there was no header and none were given.
  bool numbered() const { return numbered_; }
  char delimiter() const { return delimiter_; }
  const CsvNumbers& numbers() const { return numbers_; }
  // What of the text is not in the table, or may be meant otherwise, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // The number of the column of this name. Raises ValueError[csv.column] that lists the nearest.
  int64_t column(std::string_view name, Location at = Location::here()) const;
  // What a cell holds, without blanks and quotes around it; lives as long as the table. Rows and columns
  // count from 0 and are not checked.
  std::string_view cell(int64_t row, int64_t column) const;
  // The cell as a finite decimal number (an optional sign, digits with or without a point, an optional
  // exponent): the nearest f64. Nothing for all other text. Or as numbers() has it.
  std::optional<double> number(int64_t row, int64_t column) const {
    const double value = number_or_nan(row, column);
    return value == value ? std::optional<double>(value) : std::nullopt;
  }
  // The same, NaN for all other text; and the cells of a row from `column` on, as many as `out` holds.
  double number_or_nan(int64_t row, int64_t column) const;
  void row_numbers(int64_t row, int64_t column, std::span<double> out) const;
  // The line of the text, from 1, in which a row begins.
  int64_t line(int64_t row) const;
  // [rows]: of each.
  std::vector<int64_t> lines() const;
  // The same table with these names. Raises ValueError[csv.names] unless each column has one of its own.
  CsvTable with_names(const std::vector<std::string>& names, Location at = Location::here()) const;
  // The same table, its lines too, but for these cells, each named once, in the order of rows and columns.
  // Raises FormatError[csv.size] beyond 4 GiB.
  CsvTable with_cells(std::span<const CsvChange> changes, Location at = Location::here()) const;
  // These rows alone, in this order, with their lines. Raises ValueError[csv.rows] for one that is not there.
  CsvTable with_rows(std::span<const int64_t> rows, Location at = Location::here()) const;

 private:
  struct Cells;
  friend CsvTable parse_csv(std::string text, const CsvOptions& options, Location at);
  friend class CsvBuilder;
  bool last_is_empty() const;
  std::vector<std::pair<int64_t, std::string>> guess_numbers(const CsvOptions& options);
  void note_doubts(const std::vector<std::pair<int64_t, std::string>>& doubts);
  void guess_header(const std::vector<std::string>& expected);
  bool begins_with_units() const;
  void pass_over_rows(Cells& cells, bool as_written);
  void name_columns(const std::vector<std::string>& given);
  void note_repeated(const std::vector<std::string>& wanted);

  std::shared_ptr<const Cells> cells_;
  std::vector<std::string> names_, notes_;
  int64_t rows_ = 0, columns_ = 0;
  int64_t stride_ = 0;  // cells of a line
  int64_t first_ = 0;   // rows of names: 0 or 1
  bool numbered_ = false;
  CsvNumbers numbers_;
  char delimiter_ = ',';
};

// A table of cells at hand, whose lines are counted from 1: numbers as text with a point, "" for no value.
// Raises ValueError: csv.names for an empty name or one that stands twice, csv.columns for a row of another
// number of cells, csv.nul.
CsvTable make_table(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
                    Location at = Location::here());

// Memory is at most 16 times the text and 64 MiB. Raises FormatError with line and column: csv.columns for a
// line of another number of cells, csv.quote for a quote without its end or text behind it, csv.nul,
// csv.empty, csv.line_end for lines that end in carriage returns alone, csv.size beyond 4 GiB,
// csv.spreadsheet for .xlsx, .xls and .ods, csv.zip; ValueError[csv.delimiter], ValueError[csv.decimal],
// ValueError[csv.names] for wrong options.
CsvTable parse_csv(std::string text, const CsvOptions& options = {}, Location at = Location::here());
// The same from a file, plain or gzip; the message names the path. Raises IoError too.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {}, Location at = Location::here());

}  // namespace espalier
