// How a table writes its numbers.
#include <algorithm>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/csv.h"
#include "format/decimal.h"
#include "format/number_marks.h"

namespace espalier {
namespace {

constexpr int64_t kLookedFirst = 1000;  // lines, but for columns whose numbers are in doubt

// 1,234 may be a number of thousands; 0,234 and 1,23 are none.
bool may_group(std::string_view text) {
  const size_t comma = text.find(','), first = text.find_first_of("0123456789");
  return text[first] != '0' && first < comma && comma - first <= 3 && text.size() - comma == 4;
}

// What all columns together say of the decimal sign.
struct Signs {
  bool point = false, comma = false;

  void add(const NumberMarks& column, bool semicolons) {
    const NumberMarks::Of &points = column.of('.'), &commas = column.of(',');
    point = point || points.decimal || commas.groups || (!semicolons && points.doubt && !points.groups);
    comma = comma || commas.decimal || points.groups || (semicolons && commas.doubt && !commas.groups);
  }
  // 0 where there is none, or both.
  char only() const { return point == comma ? '\0' : point ? '.' : ','; }
};

}  // namespace

std::optional<std::string> CsvNumbers::plain_number(std::string_view cell, int64_t column) const {
  if (!grouped.empty() && grouped[static_cast<size_t>(column)]) {
    if (std::optional<std::string> whole = without_thousands(cell)) return whole;
  }
  return decimal_comma ? with_decimal_point(cell) : std::nullopt;
}

// The columns, each with a number, that may be meant otherwise than they are read.
std::vector<std::pair<int64_t, std::string>> CsvTable::guess_numbers(const CsvOptions& options) {
  if (options.decimal) {
    const bool comma = options.decimal == ',';
    numbers_ = {.decimal_comma = comma, .point = options.decimal, .told = true};
    if (comma) numbers_.grouped.assign(static_cast<size_t>(columns_), true);
    return {};
  }
  const bool semicolons = delimiter_ == ';';
  const char mark = semicolons ? '.' : ',', other = semicolons ? ',' : '.';  // `mark` may be either
  const auto count = static_cast<size_t>(columns_);
  const int64_t looked = std::min(rows_, kLookedFirst);
  std::vector<NumberMarks> marks(count);
  std::vector<bool> grouped(count), pointed(count);
  bool comma = false;
  for (int64_t row = 0; row < looked; ++row) {
    for (size_t c = 0; c < count; ++c) {
      const std::string_view text = cell(row, static_cast<int64_t>(c));
      marks[c].look(text);
      if (semicolons && without_thousands(text))
        grouped[c] = true;
      else if (text.find('.') != text.npos && parse_decimal(text))
        pointed[c] = true;
      comma = comma || (parse_decimal_comma(text) && (semicolons || !may_group(text)));
    }
  }
  numbers_.decimal_comma = comma && std::ranges::count(pointed, true) == 0;
  const auto in_doubt = [&](size_t c) { return marks[c].of(mark).doubt && !marks[c].of(mark).decimal; };
  Signs signs;
  for (size_t c = 0; c < count; ++c) {
    for (int64_t row = looked; row < rows_ && in_doubt(c); ++row)
      marks[c].look(cell(row, static_cast<int64_t>(c)));
    grouped[c] = grouped[c] && !pointed[c] && !marks[c].of('.').decimal;
    signs.add(marks[c], semicolons);
  }
  const char known = signs.only();
  const bool nothing_known = !signs.point && !signs.comma;
  std::vector<std::pair<int64_t, std::string>> doubts;
  numbers_.point = known;
  for (size_t c = 0; c < count; ++c) {
    const NumberMarks& column = marks[c];
    if (!in_doubt(c) || column.of(mark).groups || known == other) continue;
    const bool thousands = column.thousands(mark);
    if (known == 0 && thousands) continue;
    if (nothing_known) numbers_.point = options.decimal_in_doubt ? options.decimal_in_doubt : other;
    if (numbers_.point == mark && !thousands)
      grouped[c] = false;
    else if (!(nothing_known && options.decimal_in_doubt) && 2 * column.numbers() >= column.cells())
      doubts.emplace_back(static_cast<int64_t>(c), column.of(mark).example);
  }
  if (std::ranges::count(grouped, true) > 0) numbers_.grouped = std::move(grouped);
  return doubts;
}

void CsvTable::note_doubts(const std::vector<std::pair<int64_t, std::string>>& doubts) {
  if (doubts.empty()) return;
  const auto& [column, example] = doubts[0];
  const bool point = example.find('.') != example.npos;
  std::string digits = example;
  std::erase(digits, point ? '.' : ',');
  notes_.push_back(cat("column \"", shortened(names_[static_cast<size_t>(column)]), "\"",
                       doubts.size() > 1 ? cat(" and ", doubts.size() - 1, " more") : "", ": ", example,
                       " is read as ", digits, "; where the ", point ? "point" : "comma",
                       " is the decimal sign: --decimal ", point ? "." : ","));
}

}  // namespace espalier
