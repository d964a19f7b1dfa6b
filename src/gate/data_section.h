// What the tables behind a verdict hold, for its page.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fairness/rare_slices.h"
#include "gate/data_faults.h"
#include "gate/schema_limits.h"
#include "report/page.h"

namespace espalier {

struct DataSectionOptions {
  std::string train = "training", now = "judged";  // what the tables are called
  int64_t k = kRareRows;                           // no value of fewer rows is named
  size_t most_columns = 200;           // that are drawn: those that drifted furthest; the others are named
  std::set<std::string> ignored = {};  // columns that are left out
  std::vector<std::string> missing = ColumnOptions{}.missing;
  std::map<std::string, ColumnLimits> limits = {};  // by column, which are drawn
};

// The faults, and of each column that both tables have how its cells are spread in one and the other, how
// many are missing and how far it has drifted. Numbers are drawn between quantiles that k rows lie beyond,
// with lines at their limits; values that are not allowed are named as such.
PageSection data_section(const CsvTable& train, const CsvTable& now, const std::vector<DataFault>& faults,
                         const DataSectionOptions& options = {});

}  // namespace espalier
