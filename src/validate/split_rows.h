// Training rows and test rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"

namespace espalier {

struct RowSplit {
  std::vector<int64_t> train, test;  // ascending
  std::string by;                    // "by "day": test rows after 2024-03-01"; no cell but of a time
  int64_t without_group = 0;         // rows whose group is missing, each a group of its own
};

// `fraction` in [0, 1] is the share of the test rows, rounded. The same seed gives the same rows.
RowSplit split_at_random(const CsvTable& table, double fraction, uint64_t seed);
// Values are equal as EqualValues has it: 7 and 7.0 are one in a column of numbers.

// Of each value of the column the same share, rounded by largest remainders so that the whole has the share
// asked for. Raises ValueError[csv.column].
RowSplit split_by_class(const CsvTable& table, const std::string& column, double fraction, uint64_t seed,
                        const MissingWords& missing = ColumnOptions{}.missing);
// All rows of a value on one side; a row without a value is a group of its own. In a
// random order groups are for the test where they fit into what is left of the share, so that it is at most
// what was asked for. With a label ("" without) large groups are asked first, and one is for the test where
// that brings its classes nearer to the share that was asked of each, so that there may be a few rows more.
// Raises ValueError[csv.column].
RowSplit split_by_group(const CsvTable& table, const std::string& column, const std::string& label,
                        double fraction, uint64_t seed,
                        const MissingWords& missing = ColumnOptions{}.missing);
// The last rows by a column of dates, times, amounts or numbers; rows of one moment stay on one side, that of
// the training. Dates with offsets from UTC are instants. Raises ValueError: csv.column, split.time with the
// line of a cell that is none of these, dates.offsets where some dates have an offset and others have none.
RowSplit split_by_time(const CsvTable& table, const std::string& column, double fraction,
                       const MissingWords& missing = ColumnOptions{}.missing);

}  // namespace espalier
