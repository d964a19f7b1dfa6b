// What a column is.
#pragma once

#include <string>

#include "data/column_profile.h"

namespace espalier {

struct ColumnGuess {
  ColumnKind kind = ColumnKind::kDropped;
  NumberForm numbers = {};
  DateStyle dates = DateStyle::kIso;
  std::string why = {};   // of a dropped one: "every value differs"
  std::string hint = {};  // what is worth a look
  bool text = false;      // of a dropped one: that it would be one input for each of its texts
};
// `nameless`: the name is invented. `included`: dropped only when no cell holds a value.
ColumnGuess guess_column(const std::string& name, bool nameless, bool included, const ColumnProfile& profile);
// The styles of a column whose kind somebody has given. Raises ValueError[columns.kind] when no cell, or for
// booleans not every cell, is of the kind.
ColumnGuess styled_column(const std::string& name, ColumnKind kind, const ColumnProfile& profile);

// Whether so many of so many cells make a column of a kind: 95 of 100, and one.
bool nearly_all(int64_t cells, int64_t present);

// Whether its cells are codes, as zip codes 02134 and 10115: some begin with a 0 before digits, and those of
// nothing but digits have one width or all begin so. 07 beside 7 and 12 is a number.
bool holds_codes(const ColumnProfile& profile);

// Whether it is nothing but names of rows, no two alike: what guess_column() drops for that, also the numbers
// that a program wrote in front of the rows without a name.
bool names_rows(const std::string& name, const ColumnProfile& profile);

// What is to be told of a column of many numbers that is taken for text; "" of others.
std::string words_among_numbers(const ColumnProfile& profile);
// The style that most cells follow, those included that begin with their year, and how many do.
struct DateCount {
  DateStyle style = DateStyle::kIso;
  int64_t cells = 0;
};
DateCount most_dates(const ColumnProfile& profile);
// What is to be told of a column of many dates that is taken for text; "" of others.
std::string words_among_dates(const ColumnProfile& profile);
// What is to be told of a column whose dates begin with the year in many cells and with the day or month in
// others, with the first of each where `shown`; "" of others.
std::string date_mix(const ColumnProfile& profile, DateStyle style, bool shown = true);

// What is to be told of a column whose numbers have a unit in many cells and none in others, with the first
// of each where `shown`: "numbers in % in 20 cells, as "51.2%", and without a unit in 20, as "0.512""; "" of
// others.
std::string unit_mix(const ColumnProfile& profile, const FormCount& numbers, bool shown = true);
// What becomes of such numbers where all are read.
std::string read_alike(const std::string& mix, const NumberForm& form);

// The profile, where nearly all cells are numbers but for these: the others count as missing, as in training.
ColumnProfile numbers_alone(const ColumnProfile& profile);

// The style of its dates when nearly all are; Unix times count where the name says so.
std::optional<DateStyle> date_style(const std::string& name, const ColumnProfile& profile);
// How dates of which each fits with the day and with the month first are read; "" of others.
std::string date_doubt(const std::string& name, const ColumnProfile& profile);

}  // namespace espalier
