// How the cells of columns are spread in two tables: what a page draws, without a row of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "evaluate/drift.h"
#include "fairness/rare_slices.h"
#include "gate/schema_limits.h"

namespace espalier {

struct DataSpreadOptions {
  int64_t k = kRareRows;               // no value of fewer rows is named
  size_t most_columns = 200;           // those that drifted furthest; the others are named
  std::set<std::string> ignored = {};  // columns that are left out
  MissingWords missing = ColumnOptions{}.missing;
  std::map<std::string, ColumnLimits> limits = {};  // by column
};

struct ColumnSpread {
  std::string name;
  std::vector<double> train = {}, now = {};    // cells of each bar
  std::string axis = {};                       // "19 to 74", or the values of the bars
  std::vector<double> marks = {};              // limits, as shares of the axis
  std::string allowed = "-";                   // "0 to 120", "5 values"
  int64_t train_missing = 0, now_missing = 0;  // cells
  std::optional<ColumnDrift> drift = {};       // the furthest; nothing where nothing was compared
};

struct DataSpreads {
  int64_t train_rows = 0, now_rows = 0;
  std::vector<ColumnSpread> columns = {};  // the ones that drifted furthest first
  std::vector<std::string> others = {};    // nearer to each other, and not drawn
};

// Of the columns that both tables have. Numbers lie between quantiles that k rows lie beyond; values that are
// not allowed are named as such.
DataSpreads spreads_of(const CsvTable& train, const CsvTable& now, const DataSpreadOptions& options = {});

}  // namespace espalier
