// Rows of a table that are no data: its names once more, as in files that were joined, and units below them.
#include <algorithm>
#include <string_view>

#include "base/digits.h"
#include "base/format.h"
#include "base/shortened.h"
#include "format/csv_cells.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr int64_t kLookedBelow = 1000;  // rows, for columns of numbers

// [kg], (m/s), [-], but not (12.50), which is a number.
bool in_brackets(std::string_view text) {
  if (text.size() < 2) return false;
  const bool square = text.front() == '[' && text.back() == ']';
  const bool round = text.front() == '(' && text.back() == ')';
  return square || (round && !parse_decimal(text.substr(1, text.size() - 2)));
}

bool is_word_letter(char c) { return (c & 0x80) != 0 || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

// kg, m/s, %, $, and no word that means that nothing is known.
bool may_be_unit(std::string_view text) {
  constexpr size_t kLongest = 12;
  constexpr std::string_view kNothing[] = {"na", "n/a", "nan", "null", "none", "nil", "unknown", "missing"};
  if (text.empty() || text.size() > kLongest ||
      !(is_word_letter(text[0]) || text[0] == '%' || text[0] == '$'))
    return false;
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  }
  return std::ranges::find(kNothing, small) == std::end(kNothing) &&
         std::ranges::all_of(text.substr(1), [](char c) {
           return is_word_letter(c) || is_digit(c) ||
                  std::string_view("/^*.-%").find(c) != std::string_view::npos;
         });
}

// These rows, in order, become blanks before the next cell.
void blank_rows(std::string& text, CsvCells& cells, const std::vector<int64_t>& rows) {
  auto* const starts = reinterpret_cast<uint32_t*>(cells.starts.get());
  const auto stride = static_cast<size_t>(cells.columns);
  const size_t all = cells.count / stride;
  size_t kept = 0;
  auto next = rows.begin();
  bool gap = false;     // the row before is one of them
  uint32_t gap_at = 0;  // where that gap begins
  for (size_t row = 0; row < all; ++row) {
    const uint32_t* const from = starts + row * stride;
    if (next != rows.end() && static_cast<size_t>(*next) == row) {
      ++next;
      const uint32_t begin = from[0], end = from[stride];
      if (!gap) gap_at = begin;
      gap = true;
      for (uint32_t i = begin; i < end; ++i) text[i] = text[i] == '\n' || text[i] == '\0' ? '\0' : '\r';
      continue;
    }
    uint32_t* const to = starts + kept++ * stride;
    if (to != from) std::copy(from, from + stride, to);
    if (gap) to[0] = gap_at;
    gap = false;
  }
  starts[kept * stride] = gap ? gap_at : starts[cells.count];
  cells.count = kept * stride;
  cells.blank_lines = true;
}

}  // namespace

// Directly below the names: every cell a unit in brackets, a dash or empty, one of them over numbers; or
// without brackets two units at least, and nothing over other columns.
bool CsvTable::begins_with_units() const {
  constexpr int64_t kFewest = 3;
  if (rows_ < kFewest) return false;
  const auto over_numbers = [&](int64_t c) {
    int64_t numbers = 0, texts = 0;
    for (int64_t row = 1; row < std::min(rows_, kLookedBelow); ++row) {
      const std::string_view text = cell(row, c);
      if (!text.empty() && text != cell(0, c) && text != cell(-first_, c))
        ++(number(row, c) ? numbers : texts);
    }
    return numbers > 20 * texts;
  };
  int64_t units = 0, bracketed = 0;
  bool bare = false;
  for (int64_t c = 0; c < columns_; ++c) {
    const std::string_view text = cell(0, c);
    if (text.empty() || text == "-") continue;
    const bool brackets = in_brackets(text);
    if (!brackets && !may_be_unit(text)) return false;
    const bool numbers = over_numbers(c);
    if (!brackets && !numbers) return false;
    units += numbers;
    bracketed += brackets && numbers;
    bare = bare || !brackets;
  }
  return bare ? units > 1 : bracketed > 0;
}

void CsvTable::pass_over_rows(Cells& cells, bool as_written) {
  if (first_ == 0 || rows_ == 0) return;
  std::vector<std::string_view> names, units_row;
  for (int64_t c = 0; c < columns_; ++c) {
    names.push_back(cell(-first_, c));
    units_row.push_back(cell(0, c));
  }
  const auto holds = [&](int64_t row, const std::vector<std::string_view>& texts) {
    for (int64_t c = 0; c < columns_; ++c) {
      if (cell(row, c) != texts[static_cast<size_t>(c)]) return false;
    }
    return true;
  };
  const bool units = begins_with_units();
  std::vector<int64_t> passed;  // as `cells` counts
  if (units) {
    passed.push_back(first_);
    const auto first = std::ranges::find_if(units_row, [](std::string_view text) { return !text.empty(); });
    notes_.push_back(cat("line ", line(0), " is passed over as one of units: \"", shortened(*first), "\""));
  }
  int64_t repeats = 0, first_line = 0;
  bool behind_names = false;
  for (int64_t row = units; columns_ > 1 && row < rows_; ++row) {
    const bool again = holds(row, names);
    if (again && repeats++ == 0) first_line = line(row);
    if (!as_written && (again || (units && behind_names && holds(row, units_row))))
      passed.push_back(row + first_);
    behind_names = again;
  }
  if (repeats == 1)
    notes_.push_back(cat("line ", first_line, " repeats the names and ",
                         as_written ? "counts as a row" : "is passed over"));
  else if (repeats > 1)
    notes_.push_back(cat(repeats, " lines repeat the names and ",
                         as_written ? "count as rows" : "are passed over", ", the first is line ",
                         first_line));
  if (passed.empty()) return;
  blank_rows(cells.text, cells.index, passed);
  rows_ -= std::ssize(passed);
}

}  // namespace espalier
