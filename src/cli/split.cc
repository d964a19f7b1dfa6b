#include "cli/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/format.h"
#include "base/philox.h"
#include "data/column_profile.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

// Takes a share of the rows behind the first `kept`, in equal steps from a random one on: of rows by label, a
// share of each.
std::vector<int64_t> take(std::vector<int64_t>& rows, size_t kept, double share, Philox& random) {
  const size_t others = rows.size() - kept;
  const auto count =
      std::min(static_cast<size_t>(std::llround(share * static_cast<double>(rows.size()))), others);
  std::vector<int64_t> out, left(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept));
  const uint64_t first = random.below(std::max<size_t>(others, 1));
  for (size_t i = 0; i < others; ++i) {
    // A step ends where the multiples of `others` pass.
    const bool taken = (i * count + first) / others != ((i + 1) * count + first) / others;
    (taken ? out : left).push_back(rows[kept + i]);
  }
  rows = std::move(left);
  std::ranges::sort(out);
  return out;
}

// What ColumnProgram::fit may take for classes: texts, and few different numbers.
bool may_be_classes(const ColumnProfile& label, const FormCount& numbers, ColumnTask task) {
  constexpr int64_t kMostNumbers = 20;
  if (task != ColumnTask::kGuess) return task == ColumnTask::kClassification;
  return label.different() <= kMostNumbers || 2 * numbers.cells < label.rows();
}

// [table rows] The place of each row's label among all labels: numbers by their size behind other texts.
std::vector<size_t> places_of(const ColumnProfile& labels, const NumberForm& form,
                              const std::vector<int64_t>& rows, int64_t table_rows) {
  std::vector<std::optional<double>> numbers;
  for (const ColumnProfile::Value& value : labels.values) numbers.push_back(read_number(value.text, form));
  std::vector<size_t> order(labels.values.size()), of_value(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : labels.values[a].text < labels.values[b].text;
  });
  for (size_t place = 0; place < order.size(); ++place) of_value[order[place]] = place + 1;
  std::vector<size_t> out(static_cast<size_t>(table_rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (const uint32_t code = labels.codes[i]; code != ColumnProfile::kMissing)
      out[static_cast<size_t>(rows[i])] = of_value[code];
  }
  return out;
}

// Of each label the same shares; and one row trains, so that none is met later that the model cannot know.
Split at_random(std::vector<int64_t> rows, const CsvTable& table, const ColumnOptions& options,
                const DataPlan& data, uint64_t seed) {
  const int64_t label = table.column(options.label);
  const ColumnProfile profile =
      profile_column(table, rows, label, MissingWords(options.missing, options.values));
  const FormCount numbers = number_form(profile);
  const bool classes = may_be_classes(profile, numbers, options.task);
  const std::vector<size_t> places = places_of(profile, numbers.form, rows, table.rows());
  constexpr uint64_t kStream = 0x5B117;  // of the seed: no shuffle of fit
  Philox random(seed, kStream);
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  std::unordered_set<std::string_view> met;
  std::stable_partition(rows.begin(), rows.end(),
                        [&](int64_t row) { return met.insert(table.cell(row, label)).second; });
  // Labels that hardly ever come again are numbers.
  const size_t kept = classes && 2 * met.size() <= rows.size() ? met.size() : 0;
  std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), [&](int64_t a, int64_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  Split out;
  if (data.test.empty()) out.test = take(rows, kept, data.test_fraction, random);
  out.validation = take(rows, kept, data.validation_fraction, random);
  out.train = std::move(rows);
  std::ranges::sort(out.train);
  return out;
}

Split in_order(std::vector<int64_t> rows, const DataPlan& data) {
  const auto cut = [&](double share) {
    const auto count = std::llround(share * static_cast<double>(rows.size()));
    const auto first = rows.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<int64_t> out(first, rows.end());
    rows.erase(first, rows.end());
    return out;
  };
  Split out;
  if (data.test.empty()) out.test = cut(data.test_fraction);
  out.validation = cut(data.validation_fraction);
  out.train = std::move(rows);
  return out;
}

// Rows that are told apart by their cells.
using KnownRows = std::unordered_set<std::string>;

// A row's cells in the order of `columns`.
std::string joined(const CsvTable& table, int64_t row, const std::vector<int64_t>& columns) {
  std::string out;
  for (const int64_t column : columns) {
    out += table.cell(row, column);
    out += '\0';
  }
  return out;
}
KnownRows known_rows(const CsvTable& table, const std::vector<int64_t>& rows,
                     const std::vector<int64_t>& columns) {
  KnownRows out;
  for (const int64_t row : rows) out.insert(joined(table, row, columns));
  return out;
}
int64_t count_known(const KnownRows& known, const CsvTable& table, const std::vector<int64_t>& rows,
                    const std::vector<int64_t>& columns) {
  return std::ranges::count_if(rows,
                               [&](int64_t row) { return known.contains(joined(table, row, columns)); });
}

}  // namespace

Split split_rows(std::vector<int64_t> rows, const CsvTable& table, const ColumnOptions& options,
                 const DataPlan& data, uint64_t seed) {
  if (table.rows() == 0) throw ValueError("table.rows", cat(data.file, " has no rows below its header"));
  Split out = data.split == "order" ? in_order(std::move(rows), data)
                                    : at_random(std::move(rows), table, options, data, seed);
  const size_t least =
      std::min({out.train.size(), out.validation.size(), data.test.empty() ? out.test.size() : 1});
  if (least == 0) {
    throw ValueError("train.rows", cat(data.file, " has too few rows with a label: ", out.train.size(),
                                       " to learn from, ", out.validation.size(), " to say when to stop, ",
                                       out.test.size(), " to judge; each side needs one"));
  }
  return out;
}

int64_t rows_repeated(const CsvTable& table, const std::vector<int64_t>& rows,
                      const std::vector<int64_t>& test_rows) {
  constexpr int64_t kLooked = 10000;
  constexpr double kBeyondChance = 10;
  const std::vector<int64_t> columns = all_columns(table);
  // As many rows could differ as the columns have values together, at least.
  double possible = 1;
  for (const int64_t column : columns) {
    std::unordered_set<std::string_view> values;
    for (int64_t row = 0; row < std::min(table.rows(), kLooked); ++row)
      values.insert(table.cell(row, column));
    possible = std::min(possible * static_cast<double>(values.size()), 1e18);
  }
  if (possible < kBeyondChance * static_cast<double>(rows.size())) return 0;
  return count_known(known_rows(table, rows, columns), table, test_rows, columns);
}

int64_t rows_in_both(const CsvTable& table, const std::vector<int64_t>& rows, const CsvTable& test,
                     const std::vector<int64_t>& test_rows) {
  std::vector<int64_t> ours, theirs;
  const bool by_position = table.numbered() || test.numbered();
  for (int64_t c = 0; c < table.columns(); ++c) {
    const auto& names = test.names();
    const auto found = std::ranges::find(names, table.names()[static_cast<size_t>(c)]);
    if (by_position ? c >= test.columns() : found == names.end()) continue;
    ours.push_back(c);
    theirs.push_back(by_position ? c : found - names.begin());
  }
  const KnownRows known = known_rows(table, rows, ours);
  if (10 * known.size() < 9 * rows.size()) return 0;
  return count_known(known, test, test_rows, theirs);
}

}  // namespace espalier::cli
