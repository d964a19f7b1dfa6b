#include "validate/split_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/philox.h"
#include "base/shell_words.h"
#include "base/shortest.h"
#include "data/column_profile.h"
#include "data/equal_values.h"
#include "espalier/columns.h"
#include "espalier/error.h"
#include "format/expression_node.h"
#include "validate/row_times.h"

namespace espalier {
namespace {

template <class T>
void shuffle(std::vector<T>& values, Philox& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

int64_t share_of(size_t rows, double fraction) { return std::llround(fraction * static_cast<double>(rows)); }

RowSplit sorted(RowSplit split) {
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

// Of each row what its cell says, in one spelling; of one without a value what stands there.
struct RowTexts {
  RowTexts(const CsvTable& table, const std::string& column, const MissingWords& missing)
      : profile(profile_values(table, all_rows(table), table.column(column), missing)) {
    const int64_t place = table.column(column);
    for (int64_t row = 0; row < table.rows(); ++row) {
      const uint32_t code = profile.codes[static_cast<size_t>(row)];
      of_row.push_back(code == ColumnProfile::kMissing ? table.cell(row, place) : profile.values[code].text);
    }
  }
  ColumnProfile profile;
  std::vector<std::string_view> of_row;
};

// What is true of rows that have a time, and not of one whose cell is this.
std::string have_one(const std::string& name, std::string_view cell, bool dates,
                     const MissingWords& missing) {
  const std::string column = column_in_expression(name);
  if (missing.of(name).contains(cell)) return cat(column, " is not missing");
  return dates ? cat(column, " != ", quoted_text(cell)) : cat("number(", column, ") is not missing");
}
// Raises where a row has none.
RowTimes times_of(const CsvTable& table, const std::string& name, const MissingWords& missing) {
  const int64_t column = table.column(name);
  const ColumnProfile profile = profile_column(table, all_rows(table), column, missing);
  const TimeForm form = time_form(name, profile).value_or(TimeForm{.numbers = number_form(profile).form});
  RowTimes out = row_times(cat("column \"", name, "\""), profile, form);
  check_offsets({&out.instants});
  const auto none = [](double time) { return std::isnan(time); };
  const auto without = std::ranges::find_if(out.of_row, none);
  if (without == out.of_row.end()) return out;
  const int64_t row = without - out.of_row.begin();
  if (std::ranges::all_of(out.of_row, none))
    throw ValueError("split.time",
                     cat("column \"", name, "\" holds neither dates nor numbers, as line ", table.line(row),
                         " shows: rows have no time by it"),
                     "data stats FILE says what each column holds; without --by-time rows are drawn");
  const std::string_view cell = table.cell(row, column);
  throw ValueError(
      "split.time",
      cat("line ", table.line(row), ": the cell of \"", name, "\" is ",
          cell.empty() ? "empty"
          : form.dates ? "no date as the others are"
                       : "no date and no number"),
      cat("part the rows that have one: data rows FILE --where ",
          shell_words({have_one(name, cell, form.dates.has_value(), missing)}), " --out DATED.csv"));
}

// "2024-03-01", "2024-03-01 (UTC)", "7.5".
std::string moment_text(double time, const RowTimes& times) {
  constexpr double kDay = 86400;
  if (!times.form.dates) return shortest(time);
  const bool seconds =
      times.form.dates == DateStyle::kSeconds || times.form.dates == DateStyle::kMilliseconds;
  return cat(date_text(static_cast<int64_t>(std::floor(time / kDay))),
             !seconds && !times.instants.with.empty() ? " (UTC)" : "");
}

}  // namespace

RowSplit split_at_random(const CsvTable& table, double fraction, uint64_t seed) {
  RowSplit out{.train = all_rows(table), .test = {}, .by = cat("at random, seed ", seed)};
  Philox random(seed);
  shuffle(out.train, random);
  const auto first = out.train.end() - static_cast<std::ptrdiff_t>(share_of(out.train.size(), fraction));
  out.test.assign(first, out.train.end());
  out.train.erase(first, out.train.end());
  return sorted(std::move(out));
}

RowSplit split_by_class(const CsvTable& table, const std::string& column, double fraction, uint64_t seed,
                        const MissingWords& missing) {
  const RowTexts texts(table, column, missing);
  std::map<std::string_view, std::vector<int64_t>> classes;
  for (const int64_t row : all_rows(table)) classes[texts.of_row[static_cast<size_t>(row)]].push_back(row);
  RowSplit out{.train = {}, .test = {}, .by = cat("by class of \"", column, "\", seed ", seed)};
  // Whole rows first, then one more for the largest remainders.
  struct Share {
    std::vector<int64_t>* rows;
    size_t taken;
    double remainder;
  };
  std::vector<Share> shares;
  int64_t left = share_of(static_cast<size_t>(table.rows()), fraction);
  for (auto& [name, rows] : classes) {
    const double exact = fraction * static_cast<double>(rows.size());
    const auto whole = static_cast<size_t>(exact);
    shares.push_back({&rows, whole, exact - static_cast<double>(whole)});
    left -= static_cast<int64_t>(whole);
  }
  std::ranges::stable_sort(shares, std::ranges::greater(), &Share::remainder);
  Philox random(seed);
  for (Share& share : shares) {
    if (left > 0 && share.taken < share.rows->size()) ++share.taken, --left;
    shuffle(*share.rows, random);
    const auto cut = share.rows->begin() + static_cast<std::ptrdiff_t>(share.taken);
    out.test.insert(out.test.end(), share.rows->begin(), cut);
    out.train.insert(out.train.end(), cut, share.rows->end());
  }
  return sorted(std::move(out));
}

namespace {

// How far the test rows are from having the share asked of each class.
class ClassShares {
 public:
  ClassShares(const CsvTable& table, const std::string& label, double fraction, const MissingWords& missing) {
    const RowTexts texts(table, label, missing);
    std::map<std::string_view, size_t> known;
    for (const std::string_view text : texts.of_row) {
      const size_t its = known.emplace(text, known.size()).first->second;
      of_row_.push_back(its);
      rows_.resize(known.size());
      ++rows_[its];
    }
    pool_few(fraction);
    for (const double rows : rows_) left_.push_back(fraction * rows);
  }

  // Takes the rows where that brings their classes nearer.
  bool take(const std::vector<int64_t>& rows) {
    std::map<size_t, double> counts;
    for (const int64_t row : rows) ++counts[of_row_[static_cast<size_t>(row)]];
    double change = 0;
    for (const auto& [its, count] : counts) change += count * (count - 2 * left_[its]) / rows_[its];
    if (change >= 0) return false;
    for (const auto& [its, count] : counts) left_[its] -= count;
    return true;
  }

 private:
  // Classes of which no row is for the test, or none for training, are one.
  void pool_few(double fraction) {
    std::vector<size_t> places(rows_.size());
    double pooled = 0;
    std::vector<double> all;
    for (size_t c = 0; c < rows_.size(); ++c) {
      const bool few = rows_[c] * std::min(fraction, 1 - fraction) < 1;
      places[c] = few ? rows_.size() : all.size();
      (few ? pooled : all.emplace_back()) += rows_[c];
    }
    for (size_t& its : of_row_) its = std::min(places[its], all.size());
    if (pooled > 0) all.push_back(pooled);
    rows_ = std::move(all);
  }

  std::vector<size_t> of_row_;
  std::vector<double> rows_, left_;  // of each class: all, and those that the test still needs
};

}  // namespace

RowSplit split_by_group(const CsvTable& table, const std::string& column, const std::string& label,
                        double fraction, uint64_t seed, const MissingWords& missing) {
  const ColumnProfile profile = profile_values(table, all_rows(table), table.column(column), missing);
  std::vector<size_t> of_value(profile.values.size(), 0);
  std::vector<std::vector<int64_t>> groups;
  int64_t without_group = 0;
  for (const int64_t row : all_rows(table)) {
    const uint32_t code = profile.codes[static_cast<size_t>(row)];
    if (code == ColumnProfile::kMissing) {
      groups.push_back({row});
      ++without_group;
      continue;
    }
    if (of_value[code] == 0) {
      groups.emplace_back();
      of_value[code] = groups.size();
    }
    groups[of_value[code] - 1].push_back(row);
  }
  Philox random(seed);
  shuffle(groups, random);
  std::optional<ClassShares> classes;
  if (!label.empty()) {
    classes.emplace(table, label, fraction, missing);
    std::ranges::stable_sort(groups, std::ranges::greater(), &std::vector<int64_t>::size);
  }
  size_t room = static_cast<size_t>(share_of(static_cast<size_t>(table.rows()), fraction));
  RowSplit out{
      .train = {}, .test = {}, .by = cat("by group of \"", column, "\""), .without_group = without_group};
  if (classes) out.by += cat(" near the classes of \"", label, "\"");
  out.by += cat(", seed ", seed);
  for (const std::vector<int64_t>& group : groups) {
    const bool tests = classes ? classes->take(group) : group.size() <= room;
    std::vector<int64_t>& side = tests ? out.test : out.train;
    side.insert(side.end(), group.begin(), group.end());
    if (tests && !classes) room -= group.size();
  }
  return sorted(std::move(out));
}

RowSplit split_by_time(const CsvTable& table, const std::string& column, double fraction,
                       const MissingWords& missing) {
  const RowTimes times = times_of(table, column, missing);
  std::vector<double> moments = times.of_row;
  std::ranges::sort(moments);
  RowSplit out{.train = {}, .test = {}, .by = {}};
  const auto tests = static_cast<size_t>(share_of(moments.size(), fraction));
  // Rows of the moment at the cut are training rows, and later ones test rows.
  const double last = tests >= moments.size() ? -INFINITY : moments[moments.size() - tests - 1];
  for (const int64_t row : all_rows(table))
    (times.of_row[static_cast<size_t>(row)] > last ? out.test : out.train).push_back(row);
  out.by = cat("by \"", column, "\": test rows ",
               std::isinf(last) ? "all" : cat("after ", moment_text(last, times)));
  return out;
}

}  // namespace espalier
