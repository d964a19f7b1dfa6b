// Conditions on the rows of a table whose cells are read as column programs read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/csv.h"
#include "format/expression.h"

namespace espalier {

// [rows]. A column whose cells are all amounts in one form, "$ 1,200", meets numbers as such (number() takes
// others for missing). Columns of dates in one form, of times of day and of durations are compared with each
// other and with "2024-01-31" or "14:30" in the order of time, dates with offsets from UTC as instants.
// Raises ValueError: expression.*; expression.date also where it is not known which came first: no day is
// above 12, so that dates can be read in two ways, some have an offset and others none, or a form is not
// known.
std::vector<Truth> table_truths(const Expression& condition, const CsvTable& table,
                                const MissingWords& missing_words);

// What cells of this table mean to rules of a schema: a column of dates or times is what most of its cells
// are, others are missing; amounts are texts. A comparison that cannot be ordered whatever a cell holds,
// since no form of date is known or several offsets are, is missing on all rows where `refused` takes why,
// each reason once; with a null one it raises as table_truths() does. Table, words and `refused` outlive it.
CellMeanings rule_meanings(const CsvTable& table, const MissingWords& missing,
                           std::vector<std::string>* refused);

// A column whose cells are mostly amounts in one form, other than plain numbers.
std::optional<CellMeanings::Amounts> table_amounts(const CsvTable& table, int64_t column,
                                                   const MissingWords& missing_words);

// What a condition made of some rows.
struct KeptRows {
  std::string condition;
  int64_t of = 0, kept = 0;
  int64_t missing = 0;  // of those that are not kept
};
// Leaves in `rows` those of which the condition is true. Raises ValueError: expression.*, where.rows when
// there is none.
KeptRows keep_rows(const Expression& condition, const CsvTable& table, std::vector<int64_t>& rows,
                   const MissingWords& missing_words);

}  // namespace espalier
