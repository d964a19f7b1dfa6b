#include "cli/slice_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/format.h"
#include "base/shortest.h"
#include "data/column_profile.h"
#include "fairness/sensitive.h"

namespace espalier::cli {
namespace {

constexpr size_t kChosen = 2, kMostValues = 12;
constexpr int64_t kLeastRows = 30;  // as SliceFlags has it

// Two values or more of enough rows, and few altogether.
bool parts_well(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  std::map<std::string_view, int64_t> counts;
  for (const int64_t row : rows) {
    ++counts[table.cell(row, column)];
    if (counts.size() > kMostValues) return false;
  }
  return std::ranges::count_if(counts, [](const auto& entry) { return entry.second >= kLeastRows; }) >= 2;
}

bool is_sensitive(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  constexpr size_t kRowsSeen = 20;
  if (likely_sensitive(table.names()[static_cast<size_t>(column)])) return true;
  return std::any_of(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), kRowsSeen)),
                     [&](int64_t row) { return tells_who(table.cell(row, column)); });
}

// Edges that part the numbers of a column into thirds; nothing for a column of words, or of too few rows.
std::optional<std::string> buckets(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  std::vector<double> numbers;
  for (const int64_t row : rows) {
    const double value = table.number_or_nan(row, column);
    if (!std::isnan(value)) numbers.push_back(value);
  }
  if (2 * numbers.size() < rows.size() || std::ssize(numbers) < 3 * kLeastRows) return std::nullopt;
  std::ranges::sort(numbers);
  const double low = numbers[numbers.size() / 3], high = numbers[2 * numbers.size() / 3];
  if (!(numbers.front() < low && low < high)) return std::nullopt;
  return cat(table.names()[static_cast<size_t>(column)], "=", shortest(low), ",", shortest(high));
}

}  // namespace

std::vector<std::string> sensitive_columns(const CsvTable& table) {
  const std::vector<int64_t> rows = all_rows(table);
  std::vector<std::string> out;
  for (int64_t c = 0; c < table.columns(); ++c) {
    const bool few = parts_well(table, rows, c);
    if (few && is_sensitive(table, rows, c)) out.push_back(table.names()[static_cast<size_t>(c)]);
  }
  return out;
}

SliceFlags choose_slices(const CsvTable& table, const std::vector<int64_t>& rows,
                         const std::vector<std::string>& others) {
  SliceFlags out;
  const auto full = [&] { return out.slices.size() + out.buckets.size() >= kChosen; };
  for (const bool sensitive : {true, false}) {
    for (int64_t c = 0; c < table.columns() && !full(); ++c) {
      const std::string& name = table.names()[static_cast<size_t>(c)];
      if (is_sensitive(table, rows, c) != sensitive || std::ranges::count(others, name)) continue;
      if (name.find_first_of(",*=") != name.npos) continue;  // flags part their words there
      if (parts_well(table, rows, c))
        out.slices.push_back(name);
      else if (const auto edges = sensitive ? buckets(table, rows, c) : std::nullopt)
        out.buckets.push_back(*edges);
    }
  }
  return out;
}

}  // namespace espalier::cli
