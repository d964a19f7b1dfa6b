// Training, validation and test rows of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/csv.h"
#include "plan/plan.h"

namespace espalier {

// Each in ascending order. Validation rows say when training stops.
struct TrainingSplit {
  std::vector<int64_t> train, validation, test;
};

// Parts `rows`, those with a label, as the plan says: at random, of each label the same shares; or in their
// order, so that the last are test rows. Raises ValueError[train.rows] when a side gets none.
TrainingSplit split_rows(std::vector<int64_t> rows, const CsvTable& table, const ColumnOptions& options,
                         const DataPlan& data, uint64_t seed);

// How many of the rows of `test` stand in `table` among `rows` too, cell by cell and equal as
// EqualValues has it; 0 where rows of `table` are mostly not unlike each other, so that this says nothing.
int64_t rows_in_both(const CsvTable& table, const std::vector<int64_t>& rows, const CsvTable& test,
                     const std::vector<int64_t>& test_rows);

// How many of `test_rows` stand among `rows` of the same table too, cell by cell; 0 where the columns have so
// few values that rows are alike by chance.
int64_t rows_repeated(const CsvTable& table, const std::vector<int64_t>& rows,
                      const std::vector<int64_t>& test_rows);

}  // namespace espalier
