// What the training rows hold in one column.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/column_steps.h"

namespace espalier {

struct ColumnProfile {
  static constexpr uint32_t kMissing = ~uint32_t{0};

  struct Value {
    std::string_view text;
    int64_t count = 0;
    int64_t row = 0;  // the first of the table
  };
  std::vector<Value> values;    // different ones, in the order of the rows
  std::vector<uint32_t> codes;  // for each training row the place in `values`, or kMissing
  int64_t missing = 0;
  const CsvTable* table = nullptr;        // lives as long
  std::shared_ptr<const void> kept = {};  // texts that stand in no cell
  char delimiter = ',';                   // of the table: between semicolons a comma is likely decimal
  char point = 0;                         // CsvNumbers::point of it
  bool told = false;                      // CsvNumbers::told

  int64_t rows() const { return static_cast<int64_t>(codes.size()); }
  int64_t present() const { return rows() - missing; }
  int64_t different() const { return static_cast<int64_t>(values.size()); }
  std::vector<std::string_view> texts() const {
    std::vector<std::string_view> out;
    for (const Value& value : values) out.push_back(value.text);
    return out;
  }
  // Of each row what its value has in `of_value`, `none` where the cell is missing.
  template <class T>
  std::vector<T> each_row(const std::vector<T>& of_value, const T& none) const {
    std::vector<T> out;
    out.reserve(codes.size());
    for (const uint32_t code : codes) out.push_back(code == kMissing ? none : of_value[code]);
    return out;
  }
  // Cells for whose text `holds`.
  template <class F>
  int64_t count(F holds) const {
    int64_t cells = 0;
    for (const Value& value : values) cells += holds(value.text) ? value.count : 0;
    return cells;
  }
};
ColumnProfile profile_column(const CsvTable& table, std::span<const int64_t> rows, int64_t column,
                             const MissingWords& missing);
// Their numbers, from 0.
std::vector<int64_t> all_rows(const CsvTable& table);
std::vector<int64_t> all_columns(const CsvTable& table);
// The likeliest form that all values follow, one at least; nothing when one is no number.
std::optional<NumberForm> form_of_all(const ColumnProfile& profile);
// The same of the values of both, where both have some.
std::optional<NumberForm> form_of_all(const ColumnProfile& a, const ColumnProfile& b);
// Each value as a number. REQUIRES: all follow the form.
std::vector<double> value_numbers(const ColumnProfile& profile, const NumberForm& form);
// The same of all cells that hold one, in order.
std::vector<double> sorted_numbers(const ColumnProfile& profile, const NumberForm& form);

// Sorted numbers, each with how often it stands in the column.
struct WeightedNumbers {
  std::vector<std::pair<double, int64_t>> values;
  int64_t count = 0;

  double median() const;
  double least() const { return values.front().first; }
  double most() const { return values.back().first; }
};
WeightedNumbers numbers_of(const ColumnProfile& profile, const NumberForm& form);

// Of numbers, or of log(1 + x): mean, standard deviation (divisor n), skewness (third standardised moment; 0
// for a constant).
struct NumberMoments {
  double mean = 0, deviation = 0, skewness = 0;
};
NumberMoments moments_of(const WeightedNumbers& numbers, bool log);

// The form that most cells follow, plain first; and how many do.
struct FormCount {
  NumberForm form = {};
  int64_t cells = 0;
};
FormCount number_form(const ColumnProfile& profile);

// 007: digits that begin with 0, which are no amount; 07:30 is one.
bool has_leading_zero(std::string_view text);
// "12 %" of the rows, "99.95 %", and "3 rows" where it is less than one.
std::string share_of_rows(int64_t part, int64_t whole);
// A number as people write it: "1484705", "0.2"; 6 digits of a fraction.
std::string short_number(double value);

}  // namespace espalier
