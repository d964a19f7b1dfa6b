#include "espalier/csv.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "format/csv_cells.h"
#include "format/decimal.h"
#include "format/gzip.h"
#include "format/number_cells.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr int64_t kLooked = 1000;  // lines, to guess what a table is
constexpr std::string_view kMark = "\xef\xbb\xbf";

constexpr const char* kDelimiters =
    "the delimiter is an ASCII character, and no letter, digit, quote, sign, point or line end";

bool may_delimit(char delimiter) {
  const auto byte = static_cast<unsigned char>(delimiter);
  const bool alphanumeric = (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
  return byte < 0x80 && !alphanumeric && (byte == 0 || !std::strchr("\"\r\n.+-", delimiter));
}

void check_decimal(const CsvOptions& options) {
  for (const char sign : {options.decimal, options.decimal_in_doubt}) {
    if (sign && sign != '.' && sign != ',')
      throw ValueError("csv.decimal", cat("the decimal sign is a point or a comma, got '", sign, "'"));
  }
}

// "line 7", "lines 7, 9, 12 and more": of these bytes.
std::string lines_of(std::string_view text, const std::vector<size_t>& places, size_t all) {
  constexpr size_t kNamed = 3;
  std::vector<int64_t> lines;
  for (const size_t place : places) {
    const int64_t line = line_of(text, place);
    if (lines.empty() || lines.back() != line) lines.push_back(line);
  }
  const bool more = lines.size() > kNamed || places.size() < all;
  std::string out = lines.size() == 1 && !more ? "line " : "lines ";
  for (size_t i = 0; i < std::min(kNamed, lines.size()); ++i) out += cat(i ? ", " : "", lines[i]);
  return out + (more ? " and more" : "");
}

// A text that is not UTF-8 as such. Where its characters are no fewer than its broken bytes, it is UTF-8 into
// which something else was pasted; the pairs of other codes look like characters less often.
std::string decode(std::string& text) {
  const Utf8Survey found = survey_utf8(text);
  const std::string bytes = found.broken == 1 ? "1 byte is" : cat(found.broken, " bytes are");
  std::string note;
  if (found.characters >= found.broken) {
    note = cat(bytes, " no UTF-8, in ", lines_of(text, found.places, found.broken),
               ", and read as \"\xef\xbf\xbd\"");
    text = mended_utf8(text);
  } else {
    if (found.characters > 0)
      note = cat(bytes, " no UTF-8, and ", found.characters,
                 found.characters == 1 ? " character" : " characters", " would be: taken for Windows-1252");
    text = utf8_of_windows1252(text);
  }
  if (text.size() > kMostCsvBytes)
    throw FormatError("csv.size",
                      cat("the text has ", text.size(), " bytes as UTF-8, more than ", kMostCsvBytes));
  return note;
}

// UTF-8 without a mark at the beginning, whose last character ends the only line end at the end. What is to
// be told of it, or "".
std::string normalise(std::string& text, char delimiter) {
  if (text.size() > kMostCsvBytes)
    throw FormatError("csv.size", cat("the text has ", text.size(), " bytes, more than ", kMostCsvBytes));
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    throw FormatError("csv.nul", cat("line ", line_of(text, nul), ": a NUL byte, which no text has"),
                      "save the table as CSV in UTF-8");
  }
  std::string note = is_utf8(text) ? "" : decode(text);
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  const size_t last = text.find_last_not_of(delimiter == ' ' ? "\r\n" : " \r\n");
  if (last == text.npos) throw FormatError("csv.empty", "line 1: no rows, nothing but blanks");
  text.resize(last + 1);
  text += '\n';
  // Of old spreadsheets: all would be one line of names.
  const std::string_view first = std::string_view(text).substr(0, text.find('\n'));
  const size_t alone = first.find('\r');
  if (alone != first.npos && alone + 1 < first.size() && first.find('"') == first.npos)
    throw FormatError("csv.line_end", "line 1: lines that end in carriage returns alone",
                      "tr '\\r' '\\n' < FILE");
  return note;
}

// The character that a first line "sep=;" names, or 0, and the bytes of that line without its end.
std::pair<char, size_t> separator_line(std::string_view text) {
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (!text.starts_with("sep=") || text.size() < 6) return {0, 0};
  const size_t size = text.substr(5).starts_with("\r\n") ? 6 : 5;
  if (text[size] != '\n') return {0, 0};
  if (!may_delimit(text[4])) throw FormatError("csv.delimiter", cat("line 1: sep=: ", kDelimiters));
  return {text[4], size};
}

// The first bytes become blanks before the next cell.
void pass_over(std::string& text, size_t bytes) {
  std::transform(text.begin(), text.begin() + static_cast<ptrdiff_t>(bytes), text.begin(),
                 [](char c) { return c == '\n' ? '\0' : '\r'; });
}

std::string title_note(std::string_view text, size_t bytes) {
  const int64_t lines = line_of(text, bytes) - 1;
  const size_t begin = text.find_first_not_of("\r\n ");
  const std::string_view first = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  return cat(lines == 1 ? "line 1 is" : cat("lines 1 to ", lines, " are"), " passed over as a title: \"",
             shortened(first), "\"");
}

// `names`, without an empty or a second one.
std::vector<std::string> distinct_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::unordered_set<std::string> taken(names.begin(), names.end());
  std::unordered_set<std::string> used;
  std::map<std::string, int64_t> suffixes;
  for (const std::string& name : names) {
    const std::string wanted = name.empty() ? cat("column_", out.size() + 1) : name;
    std::string free = wanted;
    if (used.contains(free) || (name.empty() && taken.contains(free))) {
      int64_t& suffix = suffixes.try_emplace(wanted, 2).first->second;
      do {
        free = cat(wanted, "_", suffix++);
      } while (taken.contains(free) || used.contains(free));
    }
    used.insert(free);
    out.push_back(std::move(free));
  }
  return out;
}

}  // namespace

void refuse_other_kinds(std::string_view bytes) {
  constexpr std::string_view kZip = "PK\x03\x04", kCompoundFile = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
  const std::string_view begin = bytes.substr(0, 4096);
  const bool zip = begin.starts_with(kZip);
  const auto holds = [&](std::string_view word) { return begin.find(word) != begin.npos; };
  const bool xlsx = zip && (holds("[Content_Types].xml") || holds("xl/") || holds("docProps/"));
  const bool ods = zip && holds("opendocument.spreadsheet");
  if (xlsx || ods || begin.starts_with(kCompoundFile)) {
    throw FormatError("csv.spreadsheet",
                      cat("this is a spreadsheet (",
                          ods    ? ".ods"
                          : xlsx ? ".xlsx"
                                 : ".xls",
                          "), no text"),
                      "open it and save the sheet as CSV");
  }
  if (zip) throw FormatError("csv.zip", "this is a zip archive, no text", "unpack it");
  const bool picture =
      begin.starts_with("\x89PNG") || begin.starts_with("\xff\xd8\xff") || begin.starts_with("GIF8");
  if (picture || begin.starts_with("%PDF"))
    throw FormatError("csv.kind", cat("this is ", picture ? "a picture" : "a PDF", ", no table"));
}

std::string_view CsvTable::cell(int64_t row, int64_t column) const {
  const uint32_t* start = cells_->index.data() + (row + first_) * stride_ + column;
  return trimmed_cell(cells_->text.data() + start[0], cells_->text.data() + start[1] - 1);
}

double CsvTable::number_or_nan(int64_t row, int64_t column) const {
  double out = 0;
  row_numbers(row, column, {&out, 1});
  return out;
}

void CsvTable::row_numbers(int64_t row, int64_t column, std::span<double> out) const {
  const char* const text = cells_->text.data();
  const uint32_t* start = cells_->index.data() + (row + first_) * stride_ + column;
  // Most numbers are short and have nothing around them.
  read_number_cells(text, start, 1, out.size(), DigitForm::kReal, out.data());
  for (double& value : out) {
    if (value != value)
      value = parse_decimal(trimmed_cell(text + start[0], text + start[1] - 1)).value_or(value);
    ++start;
  }
  if (numbers_.plain()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t c = column + static_cast<int64_t>(i);
    if (const std::optional<std::string> number = numbers_.plain_number(cell(row, c), c))
      out[i] = *parse_decimal(*number);
  }
}

int64_t CsvTable::line(int64_t row) const {
  if (!cells_->lines.empty()) return cells_->lines[static_cast<size_t>(row)];
  const std::string_view text = cells_->text;
  size_t begin = cells_->index.data()[(row + first_) * stride_];
  while (text[begin] != delimiter_ && is_blank(text[begin])) ++begin;
  return line_of(text, begin);
}

std::vector<int64_t> CsvTable::lines() const {
  if (cells_ && !cells_->lines.empty()) return cells_->lines;
  const std::string_view text = cells_ ? cells_->text : std::string_view();
  std::vector<int64_t> out;
  size_t at = 0;
  int64_t line = 1;
  for (int64_t row = 0; row < rows_; ++row) {
    size_t begin = cells_->index.data()[(row + first_) * stride_];
    while (text[begin] != delimiter_ && is_blank(text[begin])) ++begin;
    line += line_of(text.substr(at), begin - at) - 1;
    at = begin;
    out.push_back(line);
  }
  return out;
}

CsvTable CsvTable::with_cells(std::span<const CsvChange> changes, Location at) const {
  if (changes.empty()) return *this;
  const CallScope scope(at);
  const auto cells = std::make_shared<Cells>();
  const uint32_t* from = cells_->index.data();
  const size_t count = cells_->index.count;
  cells->index = {allocate_buffer((count + 1) * sizeof(uint32_t)), count, cells_->index.columns};
  auto* to = reinterpret_cast<uint32_t*>(cells->index.starts.get());
  const std::string_view old = cells_->text;
  cells->lines = cells_->lines;
  std::string& text = cells->text;
  text.reserve(old.size());
  text.append(old.substr(0, from[0]));
  auto change = changes.begin();
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint32_t>(text.size());
    const std::string_view cell = old.substr(from[i], from[i + 1] - from[i]);
    if (change != changes.end() &&
        static_cast<size_t>((change->row + first_) * stride_ + change->column) == i) {
      // Lines that the cell began before or within are counted still.
      text.append(static_cast<size_t>(line_of(cell, cell.size() - 1) - 1), '\0');
      text.append(1, '"').append(change->text).append(1, '"').append(1, cell.back());
      ++change;
    } else {
      text.append(cell);
    }
    if (text.size() > kMostCsvBytes)
      throw FormatError("csv.size", cat("the text has more than ", kMostCsvBytes, " bytes"));
  }
  to[count] = static_cast<uint32_t>(text.size());
  text.append(old.substr(from[count]));
  CsvTable out = *this;
  out.cells_ = cells;
  return out;
}

int64_t CsvTable::column(std::string_view name, Location at) const {
  const CallScope scope(at);
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) throw_unknown("csv.column", "column", name, names_);
  return found - names_.begin();
}

bool CsvTable::last_is_empty() const {
  for (int64_t row = 0; row < rows_; ++row) {
    if (!cell(row, columns_ - 1).empty()) return false;
  }
  return columns_ > 1;
}

void CsvTable::guess_header(const std::vector<std::string>& expected) {
  const int64_t looked = std::min(rows_, kLooked);
  const auto is_expected = [&](int64_t c) {
    const std::string_view top = cell(0, c);
    return std::find(expected.begin(), expected.end(),
                     top.empty() ? cat("column_", c + 1) : std::string(top)) != expected.end();
  };
  int64_t known = 0;
  while (known < columns_ && is_expected(known)) ++known;
  if (known == columns_) {
    first_ = 1;
    return;
  }
  bool over_numbers = false, all_over_numbers = true, below = false, nameless = false;
  for (int64_t c = 0; c < columns_; ++c) {
    const std::string_view top = cell(0, c);
    if (top == "?" || number(0, c)) return;
    int64_t numbers = 0, texts = 0;
    for (int64_t r = 1; r < looked; ++r) {
      const std::string_view text = cell(r, c);
      if (text.empty()) continue;
      ++(number(r, c) ? numbers : texts);
      below = below || text == top;
    }
    const bool cells_alone = top.empty() && c > 0 && numbers + texts > 0;
    if (cells_alone && c + 1 == columns_) return;
    nameless = nameless || cells_alone;
    over_numbers = over_numbers || (!top.empty() && numbers > texts);
    all_over_numbers = all_over_numbers && (top.empty() || numbers > texts);
  }
  // A row of which a cell is missing has rarely words over numbers alone.
  if (nameless ? all_over_numbers && over_numbers && !below : over_numbers || !below) first_ = 1;
}

void CsvTable::note_repeated(const std::vector<std::string>& wanted) {
  size_t repeated = 0, first = 0;
  for (size_t c = 0; c < wanted.size(); ++c) {
    if (wanted[c].empty() || names_[c] == wanted[c]) continue;
    if (repeated++ == 0) first = c;
  }
  if (repeated == 0) return;
  notes_.push_back(cat("a name stands twice: the column that is \"", shortened(wanted[first]),
                       "\" once more is called \"", shortened(names_[first]), "\"",
                       repeated > 1 ? cat(", and ", repeated - 1, " more so") : ""));
}

void CsvTable::name_columns(const std::vector<std::string>& given) {
  numbered_ = first_ == 0 && given.empty();
  std::vector<std::string> wanted = given;
  if (given.empty()) {
    for (int64_t c = 0; c < columns_; ++c)
      wanted.push_back(numbered_ ? std::string() : std::string(cell(-first_, c)));
  }
  names_ = distinct_names(wanted);
  if (given.empty()) {
    note_repeated(wanted);
    return;
  }
  if (static_cast<int64_t>(given.size()) != columns_)
    throw ValueError("csv.names", cat(given.size(), " names are given for ", columns_, " columns"));
  if (names_ != given) throw ValueError("csv.names", "an empty name, or one that is given twice");
}

CsvTable CsvTable::with_names(const std::vector<std::string>& names, Location at) const {
  const CallScope scope(at);
  CsvTable out = *this;
  out.name_columns(names);
  return out;
}

CsvTable parse_csv(std::string text, const CsvOptions& options, Location at) {
  const CallScope scope(at);
  if (!may_delimit(options.delimiter)) throw ValueError("csv.delimiter", kDelimiters);
  check_decimal(options);
  refuse_other_kinds(text);
  if (std::optional<std::string> utf8 = utf8_of_utf16(text)) text = std::move(*utf8);
  CsvTable table;
  const auto [named, size] = separator_line(text);
  const char given = options.delimiter ? options.delimiter : named;
  if (std::string note = normalise(text, given); !note.empty() && !options.as_written)
    table.notes_.push_back(std::move(note));
  table.delimiter_ = given ? given : guess_delimiter(text);
  const bool strict = options.header == CsvHeader::kNo;
  const size_t title = named || strict ? 0 : title_size(text, table.delimiter_);
  if (title) table.notes_.push_back(title_note(text, title));
  if (const size_t passed = named ? size + 1 : title; passed < text.size()) pass_over(text, passed);
  auto cells = std::make_shared<CsvTable::Cells>();
  cells->index = scan_cells(text, table.delimiter_);
  cells->text = std::move(text);
  table.stride_ = table.columns_ = cells->index.columns;
  table.rows_ = static_cast<int64_t>(cells->index.count) / table.columns_;
  table.cells_ = cells;
  const bool trailing = !strict && table.last_is_empty();
  table.columns_ -= trailing;
  const auto doubts = table.guess_numbers(options);
  if (options.header == CsvHeader::kGuess) table.guess_header(options.expected);
  if (options.header == CsvHeader::kYes) table.first_ = 1;
  table.rows_ -= table.first_;
  const auto known = static_cast<int64_t>(std::max(options.expected.size(), options.names.size()));
  if (trailing && !table.first_ && options.names.empty() && known == table.stride_) {
    throw FormatError(
        "csv.columns",
        "every line ends in a delimiter, and there are no names: whether the last column is empty or "
        "none cannot be told",
        "add a line of names, or keep the column: --header no, in C++ CsvHeader::kNo");
  }
  if (trailing && (table.first_ || known == table.columns_)) {
    table.notes_.push_back("every line ends in a delimiter: the empty column behind it is left out");
  } else {
    table.columns_ = table.stride_;
  }
  table.pass_over_rows(*cells, options.as_written);
  table.name_columns(options.names);
  table.note_doubts(doubts);
  return table;
}

CsvTable read_csv(const std::string& path, const CsvOptions& options, Location at) {
  const CallScope scope(at);
  try {
    return parse_csv(gunzip(posix_env().read_file(path)), options);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()), error.fix());
  }
}

}  // namespace espalier
