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
// Read at once: strings set their bytes before these are written, and so few are still at hand.
constexpr size_t kReadAtOnce = size_t{1} << 16;

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
  fill(block_);
  refuse_other_kinds(rest_);
  if (rest_.empty()) parse_csv(rest_, options);
  if (options.delimiter) {
    delimiter_ = options.delimiter;
  } else {
    const std::string_view head = rest_;
    delimiter_ = head.size() > 5 && head.starts_with("sep=") ? head[4] : guess_delimiter(head);
  }
  CsvBlock first;
  refuse_nul(0);
  if (!cut(first)) parse_csv("", options);
  begin(first, options);
}

// Names and where the rows begin, as the whole parser finds them.
void CsvBlocks::begin(CsvBlock& first, const CsvOptions& options) {
  const CsvTable head = parse_csv(first.text, options);
  names_ = head.names();
  notes_ = head.notes();
  had_header_ = head.had_header();
  delimiter_ = head.delimiter();
  // Between cells a comma is no point.
  if (delimiter_ != ',' || head.columns() == 1) numbers_ = head.numbers();
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

// Reads on until `rest_` has `size` bytes, or all.
void CsvBlocks::fill(size_t size) {
  if (ended_ || rest_.size() >= size) return;
  rest_.reserve(size + 1);
  while (!ended_ && rest_.size() < size) {
    const size_t held = rest_.size(), part = std::min(kReadAtOnce, size - held);
    rest_.resize(held + part);
    const size_t count = source_->read(rest_.data() + held, part);
    rest_.resize(held + count);
    ended_ = count < part;
  }
  if (ended_ && !rest_.empty()) rest_ += '\n';
}

void CsvBlocks::refuse_nul(size_t from) const {
  const size_t nul = rest_.find('\0', from);
  if (nul == rest_.npos) return;
  throw FormatError("csv.nul",
                    cat("line ", line_of(rest_, nul) + line_ - 1, ": a NUL byte, which no text has"),
                    "save the table as CSV in UTF-8");
}

bool CsvBlocks::cut(CsvBlock& out) {
  for (size_t size = block_;; size *= 2) {
    const size_t held = rest_.size();
    fill(size);
    const TextSurvey survey = survey_text(rest_);
    const LastRow last = survey.quote ? find_last_row(rest_, delimiter_) : LastRow{rest_.rfind('\n') + 1};
    const size_t end = without_blank_lines(rest_, last.end);
    if (survey.nul) refuse_nul(held);
    if (ended_ && last.quote != rest_.npos) throw_quote(rest_, last.quote, line_, "");
    if (end > 0) {
      std::string rest = rest_.substr(end);
      const int64_t first_line = line_;
      line_ += survey.lines - std::count(rest.begin(), rest.end(), '\n');
      rest_.resize(end);
      out.text = std::exchange(rest_, std::move(rest));
      out.first_line = first_line;
      out.ascii = survey.ascii;
      out.bare = survey.bare;
      return true;
    }
    if (ended_) return false;
    if (rest_.size() < kLongestRow) continue;
    if (last.quote != rest_.npos) throw_quote(rest_, last.quote, line_, " within 16 MiB");
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
      bare_(block.bare && table.numbers().plain()),
      first_line_(block.first_line),
      delimiter_(table.delimiter()),
      cells_(scan_cells(text_, delimiter_, {.first_line = first_line_, .columns = table.cells()})) {
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
