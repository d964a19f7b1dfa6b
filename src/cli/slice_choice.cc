#include "cli/slice_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortest.h"
#include "data/equal_values.h"
#include "fairness/sensitive.h"

namespace espalier::cli {
namespace {

constexpr size_t kChosen = 2, kMostValues = 12;
constexpr int64_t kLeastRows = 30;  // as SliceFlags has it

// The values of a column, where two or more have enough rows and they are few altogether; else 0.
int64_t groups(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  const ColumnProfile profile = profile_values(table, rows, column, MissingWords(ColumnOptions().missing));
  const int64_t all = profile.different() + (profile.missing > 0);
  if (all > static_cast<int64_t>(kMostValues)) return 0;
  const auto large =
      std::ranges::count_if(profile.values, [](const auto& value) { return value.count >= kLeastRows; });
  return large + (profile.missing >= kLeastRows) >= 2 ? all : 0;
}

// What tells that a column says who a row is about; empty when nothing does.
std::string sensitive_by(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  constexpr size_t kRowsSeen = 20;
  if (likely_sensitive(table.names()[static_cast<size_t>(column)])) return "its name";
  const bool values =
      std::any_of(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), kRowsSeen)),
                  [&](int64_t row) { return tells_who(table.cell(row, column)); });
  return values ? "its values" : "";
}

// Edges that part the numbers of a column into thirds, "30,48"; nothing for a column of words, or of too few
// rows.
std::optional<std::string> thirds(const CsvTable& table, const std::vector<int64_t>& rows, int64_t column) {
  std::vector<double> numbers;
  for (const int64_t row : rows) {
    const double value = table.number_or_nan(row, column);
    if (!std::isnan(value)) numbers.push_back(value);
  }
  if (2 * numbers.size() < rows.size() || std::ssize(numbers) < 3 * kLeastRows) return std::nullopt;
  std::ranges::sort(numbers);
  const double low = numbers[numbers.size() / 3], high = numbers[2 * numbers.size() / 3];
  if (!(numbers.front() < low && low < high)) return std::nullopt;
  return cat(plain_number(low), ",", plain_number(high));
}

}  // namespace

std::vector<std::string> sensitive_columns(const CsvTable& table) {
  const std::vector<int64_t> rows = all_rows(table);
  std::vector<std::string> out;
  for (int64_t c = 0; c < table.columns(); ++c) {
    const bool few = groups(table, rows, c) > 0;
    if (few && !sensitive_by(table, rows, c).empty()) out.push_back(table.names()[static_cast<size_t>(c)]);
  }
  return out;
}

ChosenSlices choose_slices(const CsvTable& table, const std::vector<int64_t>& rows,
                           const std::vector<std::string>& others) {
  ChosenSlices out;
  const auto full = [&] { return out.reasons.size() >= kChosen; };
  for (const bool sensitive : {true, false}) {
    for (int64_t c = 0; c < table.columns() && !full(); ++c) {
      const std::string& name = table.names()[static_cast<size_t>(c)];
      const std::string by = sensitive_by(table, rows, c);
      if (by.empty() == sensitive || std::ranges::count(others, name)) continue;
      const std::string who = sensitive ? cat(by, by.ends_with('s') ? " tell" : " tells",
                                              " who a row is about, for a person to confirm; ")
                                        : "it parts the rows well; ";
      if (const int64_t count = groups(table, rows, c)) {
        out.flags.slices.push_back(name);
        out.reasons.push_back(cat(name, ": ", who, count, " groups"));
      } else if (const auto edges = sensitive ? thirds(table, rows, c) : std::nullopt) {
        out.flags.buckets.push_back(cat(name_in_list(name), "=", *edges));
        out.reasons.push_back(cat(name, ": ", who, "thirds of its numbers, parted at ", *edges));
      }
    }
  }
  return out;
}

}  // namespace espalier::cli
