// Whether two tables say the same of the same things: rows joined by their ids, as those a model learned from
// and those that it is served.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"

namespace espalier {

struct SkewOptions {
  std::vector<std::string> id = {};      // columns that together name a row, one or more
  std::vector<std::string> ignore = {};  // columns that may differ
  double tolerance = 0;                  // numbers at most so far apart are equal
  MissingWords missing = ColumnOptions{}.missing;
};

inline constexpr size_t kSkewLines = 5;  // that are named

// Of pairs of rows with one id. Two missing cells are equal, so are numbers of one value ("1", "1.0"; whole
// ones beyond 2^53 by their digits) in columns of numbers as EqualValues has it, and texts byte by byte. Ids
// are equal as EqualValues has it.
struct ColumnSkew {
  std::string column = {};
  int64_t differ = 0;                       // both have a value
  int64_t only_first = 0, only_second = 0;  // the other cell is missing
  std::vector<int64_t> lines = {};          // of the first table, of the first pairs

  int64_t skewed() const { return differ + only_first + only_second; }
};

struct SkewSide {
  int64_t rows = 0;
  int64_t without_id = 0;  // rows of which a part of the id is missing
  int64_t repeated = 0;    // ids of several rows here
  int64_t only = 0;        // ids that the other table has not
  std::vector<std::string> only_columns = {};
  std::vector<int64_t> without_id_lines = {}, repeated_lines = {}, only_lines = {};
};

// TensorFlow Data Validation's feature skew: ids of several rows, here or there, make no pairs.
struct RowSkew {
  int64_t pairs = 0;
  int64_t skewed = 0;    // pairs that differ in some column
  int64_t repeated = 0;  // ids of several rows, here or there
  SkewSide first = {}, second = {};
  std::vector<ColumnSkew> columns = {};  // of both tables, those of the most pairs first, then in their order
};

// Equal for equal tables in any order of their rows, but for lines. Raises ValueError: csv.column, skew.id
// without columns of an id.
RowSkew row_skew(const CsvTable& first, const CsvTable& second, const SkewOptions& options);

}  // namespace espalier
