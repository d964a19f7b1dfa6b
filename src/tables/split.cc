#include "tables/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/format.h"
#include "base/hash.h"
#include "base/philox.h"
#include "data/equal_values.h"
#include "espalier/error.h"

namespace espalier {
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

// Of each label the same shares; and one training row, so that none is met later that the model cannot know.
TrainingSplit at_random(std::vector<int64_t> rows, const CsvTable& table, const ColumnOptions& options,
                        const DataPlan& data, uint64_t seed) {
  const int64_t label = table.column(options.label);
  const ColumnProfile profile =
      profile_values(table, rows, label, MissingWords(options.missing, options.values));
  const FormCount numbers = number_form(profile);
  const bool classes = may_be_classes(profile, numbers, options.task);
  const std::vector<size_t> places = places_of(profile, numbers.form, rows, table.rows());
  constexpr uint64_t kStream = 0x5B117;  // of the seed: no shuffle of fit
  Philox random(seed, kStream);
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  std::unordered_set<size_t> met;
  std::stable_partition(rows.begin(), rows.end(),
                        [&](int64_t row) { return met.insert(places[static_cast<size_t>(row)]).second; });
  // Labels that hardly ever come again are numbers.
  const size_t kept = classes && 2 * met.size() <= rows.size() ? met.size() : 0;
  std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), [&](int64_t a, int64_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  TrainingSplit out;
  if (data.test.empty()) out.test = take(rows, kept, data.test_fraction, random);
  out.validation = take(rows, kept, data.validation_fraction, random);
  out.train = std::move(rows);
  std::ranges::sort(out.train);
  return out;
}

TrainingSplit in_order(std::vector<int64_t> rows, const DataPlan& data) {
  const auto cut = [&](double share) {
    const auto count = std::llround(share * static_cast<double>(rows.size()));
    const auto first = rows.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<int64_t> out(first, rows.end());
    rows.erase(first, rows.end());
    return out;
  };
  TrainingSplit out;
  if (data.test.empty()) out.test = cut(data.test_fraction);
  out.validation = cut(data.validation_fraction);
  out.train = std::move(rows);
  return out;
}

// Hashes of what the cells of rows say, column after column.
void add_column(std::vector<uint64_t>& hashes, const ColumnProfile& column) {
  const std::vector<uint64_t> of_column = value_hashes(column, 0);
  for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = hash_combine(hashes[row], of_column[row]);
}
std::unordered_set<uint64_t> known_rows(const std::vector<uint64_t>& hashes,
                                        const std::vector<int64_t>& rows) {
  std::unordered_set<uint64_t> out;
  for (const int64_t row : rows) out.insert(hashes[static_cast<size_t>(row)]);
  return out;
}
int64_t count_known(const std::unordered_set<uint64_t>& known, const std::vector<uint64_t>& hashes,
                    const std::vector<int64_t>& rows) {
  return std::ranges::count_if(rows,
                               [&](int64_t row) { return known.contains(hashes[static_cast<size_t>(row)]); });
}

}  // namespace

TrainingSplit split_rows(std::vector<int64_t> rows, const CsvTable& table, const ColumnOptions& options,
                         const DataPlan& data, uint64_t seed) {
  if (table.rows() == 0) throw ValueError("table.rows", cat(data.file, " has no rows below its header"));
  TrainingSplit out = data.split == "order" ? in_order(std::move(rows), data)
                                            : at_random(std::move(rows), table, options, data, seed);
  const size_t least =
      std::min({out.train.size(), out.validation.size(), data.test.empty() ? out.test.size() : 1});
  if (least == 0) {
    throw ValueError("train.rows", cat(data.file, " has too few rows with a label: ", out.train.size(),
                                       " for training, ", out.validation.size(), " for validation, ",
                                       out.test.size(), " for the test; each side needs one"));
  }
  return out;
}

int64_t rows_repeated(const CsvTable& table, const std::vector<int64_t>& rows,
                      const std::vector<int64_t>& test_rows) {
  constexpr int64_t kLooked = 10000;
  constexpr double kBeyondChance = 10;
  const MissingWords missing(ColumnOptions().missing);
  // As many rows could differ as the columns have values together, at least.
  double possible = 1;
  std::vector<uint64_t> hashes(static_cast<size_t>(table.rows()));
  for (const int64_t column : all_columns(table)) {
    const ColumnProfile profile = profile_values(table, all_rows(table), column, missing);
    add_column(hashes, profile);
    const auto first = profile.codes.begin();
    const std::unordered_set<uint32_t> values(first, first + std::min(table.rows(), kLooked));
    possible = std::min(possible * static_cast<double>(values.size()), 1e18);
  }
  if (possible < kBeyondChance * static_cast<double>(rows.size())) return 0;
  return count_known(known_rows(hashes, rows), hashes, test_rows);
}

int64_t rows_in_both(const CsvTable& table, const std::vector<int64_t>& rows, const CsvTable& test,
                     const std::vector<int64_t>& test_rows) {
  const MissingWords missing(ColumnOptions().missing);
  std::vector<uint64_t> ours(static_cast<size_t>(table.rows())), theirs(static_cast<size_t>(test.rows()));
  for (const ColumnPair& pair : columns_of_both(table, test)) {
    const ColumnProfile a = profile_column(table, all_rows(table), pair.ours, missing),
                        b = profile_column(test, all_rows(test), pair.theirs, missing);
    const EqualValues equal(a, b);
    add_column(ours, by_value(a, equal));
    add_column(theirs, by_value(b, equal));
  }
  const std::unordered_set<uint64_t> known = known_rows(ours, rows);
  if (10 * known.size() < 9 * rows.size()) return 0;
  return count_known(known, theirs, test_rows);
}

}  // namespace espalier
