// When two cells of a column say the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/column_profile.h"

namespace espalier {

// In a column of numbers cells are equal by value, 7 as 7.0 and 7e0, digit by digit and not as doubles; in
// all others as texts. A column is of numbers where nearly all cells are, in one form, and not
// holds_codes(): zip codes and patient codes, 02134 beside 10115, are texts. Of tables that are compared both
// decide together, and one of codes makes both texts. Every verb that asks whether cells are equal asks here.
class EqualValues {
 public:
  explicit EqualValues(const ColumnProfile& profile);
  EqualValues(const ColumnProfile& a, const ColumnProfile& b);

  bool of_numbers() const { return of_numbers_; }
  // The one spelling of all cells that say the same as this one: its canonical_decimal(); where numbers have
  // a unit, a decimal comma or the like, the shortest spelling that the column has of it; of texts the text.
  std::string spelling(std::string_view text) const;

 private:
  void read(const std::vector<const ColumnProfile*>& profiles);

  bool of_numbers_ = false;
  NumberForm form_;
  std::unordered_map<std::string, std::string> spellings_;  // by exact_number(); empty of plain numbers
};

// The profile, where values that say the same are one, in its spelling().
ColumnProfile by_value(const ColumnProfile& profile, const EqualValues& equal);
// The same of a column by itself.
ColumnProfile profile_values(const CsvTable& table, std::span<const int64_t> rows, int64_t column,
                             const MissingWords& missing);

// [profile.rows()] Of each row a hash of its value, the same for the same spelling; one of its own where it
// is missing.
std::vector<uint64_t> value_hashes(const ColumnProfile& profile, uint64_t seed);

// Columns of two tables that stand for each other: by name, or by place where a table has no names; nothing
// of a column that the other lacks.
struct ColumnPair {
  int64_t ours = 0, theirs = 0;
};
std::vector<ColumnPair> columns_of_both(const CsvTable& ours, const CsvTable& theirs);

}  // namespace espalier
