#include "format/csv_blocks.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "espalier/error.h"
#include "format/decimal.h"
#include "format/text_survey.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr size_t kLongestRow = size_t{1} << 24;

// Where the last row ends, 0 without one; and the quote that does not end, or npos.
struct LastRow {
  size_t end = 0, quote = std::string_view::npos;
};

// Whether the quote at `quote` begins a cell of a text that begins with a row.
bool opens_cell(std::string_view text, size_t quote, char delimiter) {
  while (quote > 0) {
    const char before = text[--quote];
    if (before == delimiter || before == '\n') return true;
    if (!is_blank(before)) return false;
  }
  return true;
}

LastRow find_last_row(std::string_view text, char delimiter) {
  LastRow out;
  const auto plain = [&](size_t from, size_t to) {
    const size_t line_end = text.substr(from, to - from).rfind('\n');
    if (line_end != text.npos) out.end = from + line_end + 1;
  };
  for (size_t at = 0;;) {
    const size_t quote = text.find('"', at);
    plain(at, std::min(quote, text.size()));
    if (quote == text.npos) return out;
    at = quote + 1;
    if (!opens_cell(text, quote, delimiter)) continue;
    for (;;) {
      const size_t closing = text.find('"', at);
      if (closing == text.npos) {
        out.quote = quote;
        return out;
      }
      at = closing + 1;
      if (at == text.size() || text[at] != '"') break;
      ++at;
    }
  }
}

// Behind lines of blanks at the end; lines of nothing but them may be rows of one column, or none.
size_t without_blank_lines(std::string_view text, size_t end) {
  const size_t last = text.substr(0, end).find_last_not_of(" \r\n");
  return last == text.npos ? 0 : text.find('\n', last) + 1;
}

[[noreturn]] void throw_quote(std::string_view text, size_t quote, int64_t first_line, const char* how) {
  throw FormatError("csv.quote", cat(csv_place(text, quote, first_line), ": a quote that does not end", how),
                    kQuotes);
}

}  // namespace

CsvBlocks::CsvBlocks(std::unique_ptr<ByteSource> source, const CsvOptions& options, size_t block)
    : source_(std::move(source)), block_(std::max<size_t>(block, 16)) {
  // Spreadsheets and the like have no lines to cut.
  fill(rest_, 0, block_);
  refuse_other_kinds(rest_);
  if (rest_.empty()) parse_csv(rest_, options);
  if (options.delimiter) {
    delimiter_ = options.delimiter;
  } else {
    const std::string_view head = rest_;
    delimiter_ = head.size() > 5 && head.starts_with("sep=") ? head[4] : guess_delimiter(head);
  }
  CsvBlock first;
  refuse_nul(rest_, 0);
  if (!cut(first)) parse_csv("", options);
  begin(first, options);
}

// Names and where the rows begin, as the whole parser finds them.
void CsvBlocks::begin(CsvBlock& first, const CsvOptions& options) {
  CsvOptions as_written = options;
  as_written.as_written = true;
  const CsvTable head = parse_csv(first.text, as_written);
  names_ = head.names();
  notes_ = head.notes();
  had_header_ = head.had_header();
  delimiter_ = head.delimiter();
  // Between cells a comma is no point, unless somebody says so.
  if (delimiter_ != ',' || head.columns() == 1 || options.decimal) numbers_ = head.numbers();
  if (head.rows() == 0) {
    cells_ = head.columns();
    return;
  }
  const int64_t passed = head.line(0) - 1;
  size_t at = 0;
  for (int64_t line = 0; line < passed; ++line) at = first.text.find('\n', at) + 1;
  first.text.erase(0, at);
  first.first_line += passed;
  std::string copy = first.text;
  cells_ = scan_cells(copy, delimiter_, {.first_line = first.first_line}).columns;
  first_ = std::move(first);
  has_first_ = true;
}

// Reads on behind the first `held` bytes until there are `size`, or all.
void CsvBlocks::fill(std::string& text, size_t held, size_t size) {
  if (ended_ || held >= size) return text.resize(held);
  text.reserve(size + 1);
  text.resize(size);
  const size_t count = source_->read(text.data() + held, size - held);
  ended_ = count < size - held;
  text.resize(held + count);
  if (ended_ && !text.empty()) text += '\n';
}

void CsvBlocks::refuse_nul(std::string_view text, size_t from) const {
  const size_t nul = text.find('\0', from);
  if (nul == text.npos) return;
  throw FormatError("csv.nul",
                    cat("line ", line_of(text, nul) + line_ - 1, ": a NUL byte, which no text has"),
                    "save the table as CSV in UTF-8");
}

bool CsvBlocks::cut(CsvBlock& out) {
  std::string& text = out.text;
  size_t held = rest_.size();
  if (text.size() < held) text.resize(held);
  rest_.copy(text.data(), held);
  for (size_t size = block_;; size *= 2) {
    fill(text, held, size);
    const TextSurvey survey = survey_text(text);
    const LastRow last = survey.quote ? find_last_row(text, delimiter_) : LastRow{text.rfind('\n') + 1};
    const size_t end = without_blank_lines(text, last.end);
    if (survey.nul) refuse_nul(text, held);
    if (ended_ && last.quote != text.npos) throw_quote(text, last.quote, line_, "");
    if (end > 0) {
      rest_.assign(text, end);
      out.first_line = line_;
      line_ += survey.lines - std::count(rest_.begin(), rest_.end(), '\n');
      text.resize(end);
      out.ascii = survey.ascii;
      out.bare = survey.bare;
      return true;
    }
    if (ended_) return false;
    held = text.size();
    if (held < kLongestRow) continue;
    if (last.quote != text.npos) throw_quote(text, last.quote, line_, " within 16 MiB");
    throw FormatError("csv.line",
                      cat("line ", line_, ": more than ", kLongestRow, " bytes without a row's end"));
  }
}

bool CsvBlocks::next(CsvBlock& out) {
  if (has_first_) {
    out = std::move(first_);
    has_first_ = false;
    return true;
  }
  return cut(out);
}

CsvRows::CsvRows(CsvBlock block, const CsvBlocks& table)
    : text_(std::move(block.text)),
      utf8_(block.ascii || is_utf8(text_)),
      first_line_(block.first_line),
      delimiter_(table.delimiter()),
      cells_(scan_cells(text_, delimiter_, {.first_line = first_line_, .columns = table.cells()})),
      bare_(block.bare && !cells_.blank_lines && table.numbers().plain()) {
  const auto named = static_cast<int64_t>(table.names().size());
  for (int64_t row = 0; named < cells_.columns && row < rows(); ++row) {
    if (!cell(row, named).empty())
      throw FormatError("csv.columns",
                        cat("line ", line(row), ": a cell behind the last column that has a name"));
  }
  if (!table.numbers().plain()) write_plainly(table.numbers(), named);
}

void CsvRows::write_plainly(const CsvNumbers& numbers, int64_t columns) {
  for (int64_t row = 0; row < rows(); ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const std::string_view text = cell(row, column);
      const std::optional<std::string> plain = numbers.plain_number(text, column);
      if (!plain) continue;
      // What is shorter ends where it ended; a quote before it moves along, and blanks count for nothing.
      const auto begin = static_cast<size_t>(text.data() - text_.data()), gap = text.size() - plain->size();
      const bool quoted = text.data() > this->begin(row, column) && text_[begin - 1] == '"';
      text_.replace(begin, text.size(), std::string(gap, ' ') + *plain);
      if (quoted) std::swap(text_[begin - 1], text_[begin + gap - 1]);
    }
  }
}

int64_t CsvRows::line(int64_t row) const {
  size_t begin = start(row, 0)[0];
  while (text_[begin] != delimiter_ && is_blank(text_[begin])) ++begin;
  return line_of(text_, begin) + first_line_ - 1;
}

}  // namespace espalier
