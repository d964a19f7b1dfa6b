#include "format/csv_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/format.h"
#include "espalier/error.h"
#include "format/byte_bits.h"
#include "format/csv_ends.h"

namespace espalier {
namespace {

constexpr int64_t kMostColumns = 1 << 18;

size_t count_bits(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

// One of the first lines that are not blank: its delimiters outside of quotes, and where the next line
// begins.
struct FirstLine {
  int64_t delimiters = 0;
  size_t end = 0;
};

std::vector<FirstLine> first_lines(std::string_view text, char delimiter) {
  constexpr size_t kLooked = 1 << 16, kLines = 20;
  std::vector<FirstLine> out;
  int64_t count = 0;
  bool quoted = false, blank = true;
  const size_t looked = std::min(text.size(), kLooked);
  for (size_t i = 0; i < looked; ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    count += c == delimiter;
    blank = blank && (c == '\n' || is_blank(c)) && c != delimiter;
    if (c != '\n') continue;
    if (!blank) out.push_back({count, i + 1});
    count = 0;
    blank = true;
    if (out.size() == kLines) return out;
  }
  if (out.empty()) out.push_back({count, looked});
  return out;
}

bool agree(const std::vector<FirstLine>& lines, size_t begin) {
  const int64_t delimiters = lines[begin].delimiters;
  return delimiters > 0 && std::all_of(lines.begin() + static_cast<ptrdiff_t>(begin), lines.end(),
                                       [&](const FirstLine& line) { return line.delimiters == delimiters; });
}

// How many lines of one cell stand over lines of several that agree.
size_t title_lines(const std::vector<FirstLine>& lines) {
  constexpr size_t kMost = 5;
  size_t titles = 0;
  while (titles < lines.size() && lines[titles].delimiters == 0) ++titles;
  return titles <= kMost && titles + 2 <= lines.size() && agree(lines, titles) ? titles : 0;
}

class Scanner {
 public:
  Scanner(std::string& text, char delimiter, const CsvPlace& place)
      : text_(text),
        delimiter_(delimiter),
        several_(place.columns ? place.columns > 1 : first_lines(text, delimiter)[0].delimiters > 0),
        first_line_(place.first_line),
        columns_(place.columns),
        columns_given_(place.columns != 0),
        unquoted_(text.size()) {
    // As dense as at the beginning, and an eighth more.
    const std::string_view sample = std::string_view(text).substr(0, 1 << 13);
    const auto ends = static_cast<size_t>(std::count(sample.begin(), sample.end(), delimiter) +
                                          std::count(sample.begin(), sample.end(), '\n'));
    grow(2 * kCsvBlock + text.size() / sample.size() * (ends + ends / 8));
    starts_[count_++] = 0;
  }

  CsvCells run() {
    if (plain()) return {std::move(buffer_), count_ - 1, columns_};
    while (at_ < text_.size()) {
      Masks masks = block();
      const bool quoted = masks.quotes != 0;
      const int quote = std::countr_zero(masks.quotes);
      if (quoted) {
        const uint64_t before = (uint64_t{1} << quote) - 1;
        masks.ends &= before;
        masks.lines &= before;
      }
      add(masks);
      at_ = quoted ? after_quote(at_ + static_cast<size_t>(quote)) : at_ + kCsvBlock;
    }
    return {std::move(buffer_), count_ - 1, columns_, blank_lines_};
  }

 private:
  // Whether the text has no quotes, and all lines are rows; then these were found.
  bool plain() {
    const CsvEnds found = find_csv_ends(text_.data(), text_.size(), delimiter_, starts_ + 1, capacity_ - 1);
    if (!found.all) return false;
    int64_t columns = columns_;
    for (size_t i = 1; columns == 0 && i <= std::min<size_t>(found.count, kMostColumns); ++i) {
      if (text_[starts_[i] - 1] == '\n') columns = static_cast<int64_t>(i);
    }
    const auto step = static_cast<size_t>(columns);
    if (columns == 0 || found.lines * step != found.count) return false;
    for (size_t i = step; i <= found.count; i += step) {
      if (text_[starts_[i] - 1] != '\n') return false;
    }
    columns_ = columns;
    count_ = found.count + 1;
    return true;
  }

  // A bit for each of the next 64 bytes.
  struct Masks {
    uint64_t ends = 0, lines = 0, quotes = 0;
  };

  Masks block() const {
    char rest[kCsvBlock];
    const char* const bytes = csv_block(text_.data() + at_, text_.size() - at_, rest);
    Masks out;
    for (size_t i = 0; i < kCsvBlock; i += sizeof(Bytes)) {
      Bytes part;
      std::memcpy(&part, bytes + i, sizeof part);
      const auto lines = reinterpret_cast<Bytes>(part == '\n');
      const auto quotes = reinterpret_cast<Bytes>(part == '"');
      const auto delimiters = reinterpret_cast<Bytes>(part == static_cast<uint8_t>(delimiter_));
      out.ends |= bits_of(lines | delimiters) << i;
      out.lines |= bits_of(lines) << i;
      const auto any = reinterpret_cast<Words>(quotes);
      if (any[0] | any[1]) out.quotes |= bits_of(quotes) << i;
    }
    return out;
  }

  void add(Masks masks) {
    if (capacity_ - count_ < kCsvBlock) grow(capacity_ + capacity_ / 2);
    for (uint64_t lines = masks.lines; lines; lines &= lines - 1) {
      const size_t ends = count_ - 1 + count_bits(masks.ends & (lines ^ (lines - 1)));
      const size_t offset = at_ + static_cast<size_t>(std::countr_zero(lines));
      if (ends == row_begin_ + 1 && several_ && is_blank_line(offset)) {
        text_[offset] = '\0';
        blank_lines_ = true;
        masks.ends &= ~(lines & -lines);
      } else {
        end_row(ends, offset);
      }
      line_begin_ = offset + 1;
    }
    // Eight at a time, of which the last ones may be none: cheaper than to foresee how many they are.
    uint32_t* out = starts_ + count_;
    count_ += count_bits(masks.ends);
    for (uint64_t ends = masks.ends; ends;) {
      for (int i = 0; i < 8; ++i, ends &= ends - 1)
        *out++ = static_cast<uint32_t>(at_) + static_cast<uint32_t>(std::countr_zero(ends)) + 1;
    }
  }

  void grow(size_t capacity) {
    Buffer larger = allocate_buffer(capacity * sizeof(uint32_t));
    if (count_) std::memcpy(larger.get(), starts_, count_ * sizeof(uint32_t));
    buffer_ = std::move(larger);
    starts_ = reinterpret_cast<uint32_t*>(buffer_.get());
    capacity_ = capacity;
  }

  bool is_blank_line(size_t end) const {
    return std::all_of(text_.begin() + static_cast<ptrdiff_t>(line_begin_),
                       text_.begin() + static_cast<ptrdiff_t>(end), is_blank);
  }

  // A line ends at `offset`, with so many cells before it in the text.
  void end_row(size_t cells, size_t offset) {
    const auto found = static_cast<int64_t>(cells - row_begin_);
    if (columns_ == 0) {
      if (found > kMostColumns)
        throw FormatError("csv.columns", cat("line 1 has ", found, " columns, more than ", kMostColumns));
      columns_ = found;
    }
    if (found != columns_) {
      const auto [other, count] = other_delimiter();
      const std::string ended = cat("line ", line_of(text_, offset) + first_line_ - 1, " ends after ",
                                    counted(found, "cell"), ", the first line ");
      if (count == 0)
        throw FormatError("csv.columns", cat(ended, "has ", columns_),
                          found < columns_
                              ? cat("every line has ", columns_,
                                    " cells, empty ones between delimiters too; a cell "
                                    "that holds a line's end stands in double quotes")
                              : "a cell that holds the delimiter or a line's end stands in double quotes");
      const std::string name = other == '\t' ? "a tab" : cat("\"", std::string(1, other), "\"");
      throw FormatError("csv.columns", cat(ended, "is one cell and holds ", count, " times ", name),
                        cat("the delimiter may be ", name, ", which is found where none is named"));
    }
    row_begin_ = cells;
  }

  // What may part a first line of one cell, and how often it stands there.
  std::pair<char, int64_t> other_delimiter() const {
    std::pair<char, int64_t> out = {};
    if (columns_ != 1 || columns_given_) return out;
    for (const char other : {',', ';', '\t', '|'}) {
      const int64_t count = first_lines(text_, other)[0].delimiters;
      if (other != delimiter_ && count > out.second) out = {other, count};
    }
    return out;
  }

  // Where to go on after a quote at `quote`: behind a quoted cell, or behind a quote inside of a cell.
  size_t after_quote(size_t quote) {
    const size_t start = starts_[count_ - 1];
    if (start == unquoted_) return quote + 1;
    if (!std::all_of(text_.begin() + static_cast<ptrdiff_t>(start),
                     text_.begin() + static_cast<ptrdiff_t>(quote), is_blank)) {
      unquoted_ = start;
      return quote + 1;
    }
    char* const data = text_.data();
    size_t from = quote + 1, to = from, closing = 0;
    for (;; from = closing + 2) {
      closing = text_.find('"', from);
      if (closing == text_.npos)
        throw FormatError("csv.quote",
                          cat(csv_place(text_, quote, first_line_), ": a quote that does not end"), kQuotes);
      std::memmove(data + to, data + from, closing - from);
      to += closing - from;
      data[to] = '"';
      if (data[closing + 1] != '"') break;
      ++to;
    }
    std::memset(data + to + 1, ' ', closing - to);
    size_t end = closing + 1;
    while (data[end] != delimiter_ && is_blank(data[end])) ++end;
    if (data[end] != delimiter_ && data[end] != '\n') {
      const bool near = line_of(text_, quote) == line_of(text_, end);
      throw FormatError("csv.quote",
                        cat(csv_place(text_, end, first_line_), ": text behind a closing quote",
                            near ? "" : cat(", which began in ", csv_place(text_, quote, first_line_))),
                        kQuotes);
    }
    return end;
  }

  std::string& text_;
  const char delimiter_;
  const bool several_;  // columns
  const int64_t first_line_;
  int64_t columns_;
  bool columns_given_;
  Buffer buffer_;
  uint32_t* starts_ = nullptr;
  size_t capacity_ = 0, count_ = 0;  // of starts
  size_t row_begin_ = 0;             // cells before this row
  size_t line_begin_ = 0;
  bool blank_lines_ = false;
  size_t at_ = 0;
  size_t unquoted_;  // the start of a cell whose quotes are but characters
};

}  // namespace

std::string csv_place(std::string_view text, size_t offset, int64_t first_line) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_end = before.find_last_of(std::string_view("\n\0", 2));
  const size_t column = line_end == before.npos ? offset + 1 : offset - line_end;
  return cat("line ", line_of(text, offset) + first_line - 1, ", column ", column);
}

int64_t line_of(std::string_view text, size_t offset) {
  return 1 + std::count_if(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset),
                           [](char c) { return c == '\n' || c == '\0'; });
}

char guess_delimiter(std::string_view text) {
  char best = ',';
  std::tuple<bool, bool, int64_t> best_score{false, false, 0};
  for (const char candidate : {',', ';', '\t', '|'}) {
    const std::vector<FirstLine> lines = first_lines(text, candidate);
    const size_t titles = title_lines(lines);
    const std::tuple<bool, bool, int64_t> score{agree(lines, titles), titles == 0, lines[titles].delimiters};
    if (score > best_score) {
      best_score = score;
      best = candidate;
    }
  }
  return best;
}

size_t title_size(std::string_view text, char delimiter) {
  const std::vector<FirstLine> lines = first_lines(text, delimiter);
  const size_t titles = title_lines(lines);
  return titles ? lines[titles - 1].end : 0;
}

CsvCells scan_cells(std::string& text, char delimiter, const CsvPlace& place) {
  return Scanner(text, delimiter, place).run();
}

}  // namespace espalier
