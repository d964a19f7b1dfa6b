#include "evaluate/slice_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "data/equal_values.h"
#include "data/table_truths.h"
#include "espalier/error.h"
#include "format/canonical_decimal.h"

namespace espalier {

std::vector<std::string> factors_of(const std::string& cross) { return names_listed(cross, '*'); }

std::string with_plain_numbers(const std::string& slice) {
  std::string out;
  for (size_t begin = 0; begin <= slice.size();) {
    const size_t end = std::min(slice.find(", ", begin), slice.size());
    const std::string_view part = std::string_view(slice).substr(begin, end - begin);
    const size_t value = part.rfind('=') == part.npos ? part.size() : part.rfind('=') + 1;
    const std::string_view text = part.substr(value);
    const std::optional<std::string> number = has_leading_zero(text) ? std::nullopt : canonical_decimal(text);
    out += cat(begin > 0 ? ", " : "", part.substr(0, value), number ? *number : std::string(text));
    begin = end + 2;
  }
  return out;
}

std::string cross_of(const std::vector<std::string>& columns) { return names_in_list(columns, "*"); }

const CategoryColumn* SliceColumns::named(const std::string& name) {
  const auto found = std::ranges::find(columns_, name, &CategoryColumn::name);
  if (found != columns_.end()) return &*found;
  const auto condition = conditions_.find(name);
  if (condition != conditions_.end()) return &columns_.emplace_back(answers(name, condition->second));
  const int64_t column = table_.column(name);
  const auto buckets = buckets_.find(name);
  return &columns_.emplace_back(buckets == buckets_.end() ? words(name, column)
                                                          : bucketed(name, column, buckets->second));
}

std::vector<const CategoryColumn*> SliceColumns::by(const std::string& cross) {
  std::vector<const CategoryColumn*> out;
  for (const std::string& name : factors_of(cross)) out.push_back(named(name));
  return out;
}

bool SliceColumns::is_missing(std::string_view text, int64_t column) const {
  return missing_.of(table_.names()[static_cast<size_t>(column)]).contains(text);
}

bool SliceColumns::words_are_few(int64_t column) const {
  return profile_values(table_, rows_, column, missing_).values.size() <= kMostValues;
}

CategoryColumn SliceColumns::words(const std::string& name, int64_t column) const {
  const ColumnProfile profile = profile_values(table_, rows_, column, missing_);
  if (profile.values.size() > kMostValues) refuse(name, column, profile.values.size());
  std::map<std::string_view, uint32_t> codes;
  for (const ColumnProfile::Value& value : profile.values) codes.emplace(value.text, 0);
  CategoryColumn out{.name = name, .values = {}, .codes = {}};
  for (auto& [text, code] : codes) {
    code = static_cast<uint32_t>(out.values.size());
    out.values.emplace_back(text);
  }
  for (const uint32_t code : profile.codes) {
    out.codes.push_back(code == ColumnProfile::kMissing ? CategoryColumn::kMissing
                                                        : codes.at(profile.values[code].text));
  }
  return out;
}

CategoryColumn SliceColumns::answers(const std::string& name, const Expression& condition) const {
  if (std::ranges::count(table_.names(), name))
    throw ValueError("evaluate.slice",
                     cat("slices by ", condition.canonical(), " have the name of a column, \"", name, "\""),
                     "give them a name of their own");
  const std::vector<Truth> all = table_truths(condition, table_, missing_);
  CategoryColumn out{.name = name, .values = {"yes", "no"}, .codes = {}};
  for (const int64_t row : rows_) {
    const Truth truth = all[static_cast<size_t>(row)];
    out.codes.push_back(truth == Truth::kMissing ? CategoryColumn::kMissing : truth == Truth::kTrue ? 0 : 1);
  }
  return out;
}

CategoryColumn SliceColumns::bucketed(const std::string& name, int64_t column, const Buckets& buckets) {
  if (buckets.tones) return tones(name, column, *buckets.tones);
  const std::vector<double> numbers = this->numbers(column);
  std::vector<int64_t> others;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(numbers[i]) && !is_missing(table_.cell(rows_[i], column), column))
      others.push_back(rows_[i]);
  }
  const auto read =
      static_cast<size_t>(std::ranges::count_if(numbers, [](double number) { return !std::isnan(number); }));
  if (!others.empty() && others.size() >= read) {
    throw ValueError("evaluate.bucket",
                     cat("line ", table_.line(others[0]), ": \"", shortened(table_.cell(others[0], column)),
                         "\" of column \"", name, "\" is no number, and cannot be put into a bucket",
                         others.size() > 1 ? cat(", as ", others.size() - 1, " more") : ""),
                     words_are_few(column) ? cat("--slice ", shell_words({name_in_list(name)}),
                                                 " parts the column by its values")
                                           : "");
  }
  if (!others.empty()) {
    notes_.push_back(cat("column \"", name, "\": ",
                         others.size() == 1 ? "1 cell is no number, and counts"
                                            : cat(others.size(), " cells are no numbers, and count"),
                         " as missing where rows are parted by it, in line ", table_.line(others[0]),
                         others.size() > 1 ? " first" : ""));
  }
  return bucket(name, numbers, buckets.edges);
}

std::vector<double> SliceColumns::numbers(int64_t column) const {
  std::vector<double> out;
  bool plain = true;
  for (const int64_t row : rows_) {
    const bool missing = is_missing(table_.cell(row, column), column);
    out.push_back(missing ? std::numeric_limits<double>::quiet_NaN() : table_.number_or_nan(row, column));
    plain = plain && (missing || !std::isnan(out.back()));
  }
  if (plain) return out;
  const auto amounts = table_amounts(table_, column, missing_);
  for (size_t i = 0; amounts && i < out.size(); ++i) out[i] = amounts->of[static_cast<size_t>(rows_[i])];
  return out;
}

CategoryColumn SliceColumns::tones(const std::string& name, int64_t column, MonkGroups groups) const {
  std::vector<uint8_t> out;
  for (const int64_t row : rows_) {
    const std::string_view text = table_.cell(row, column);
    const double value = table_.number_or_nan(row, column);
    const bool tone = value >= 1 && value <= kMonkTones.size() && value == std::trunc(value);
    if (!tone && !is_missing(text, column) && text != "not sure") {
      throw ValueError("evaluate.bucket",
                       cat("line ", table_.line(row), ": \"", shortened(text), "\" of column \"", name,
                           "\" is no tone of the Monk Skin Tone Scale: 1 to 10, or not sure"));
    }
    out.push_back(tone ? static_cast<uint8_t>(value) : 0);
  }
  return monk_tones(name, out, groups);
}

std::string SliceColumns::quarters(const std::string& name, int64_t column) const {
  std::vector<double> numbers = this->numbers(column);
  std::erase_if(numbers, [](double value) { return std::isnan(value); });
  if (2 * numbers.size() <= rows_.size()) return "";
  std::ranges::sort(numbers);
  std::vector<double> edges;
  for (const size_t quarter : {1, 2, 3}) edges.push_back(numbers[quarter * numbers.size() / 4]);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::string out;
  for (const double edge : edges) out += cat(out.empty() ? "" : ",", plain_number(edge));
  return shell_words({"--bucket", cat(name_in_list(name), "=", out)});
}

void SliceColumns::refuse(const std::string& name, int64_t column, size_t values) const {
  const std::string edges = quarters(name, column);
  throw ValueError("evaluate.slice",
                   cat("column \"", name, "\" has ", values, " values: slices are by at most ", kMostValues),
                   edges.empty() ? "--slice-where 'NAME: CONDITION' parts rows by a condition on it" : edges);
}

std::string SliceColumns::advice(const std::string& name) {
  constexpr size_t kFewValues = 12;
  const size_t values = named(name)->values.size();
  if (values <= kFewValues || buckets_.contains(name) || conditions_.contains(name)) return "";
  const std::string edges = quarters(name, table_.column(name));
  if (edges.empty()) return "";
  return cat("column \"", name, "\" is parted by each of its ", values, " numbers: ", edges,
             " makes quarters of them");
}

}  // namespace espalier
