// What the tables behind a verdict hold, for its page.
#pragma once

#include <string>
#include <vector>

#include "gate/data_faults.h"
#include "gate/data_spreads.h"
#include "report/page.h"

namespace espalier {

// What the tables are called.
struct TableNames {
  std::string train = "training", now = "evaluated";
};

// The faults, and of each column how its cells are spread in one table and the other, with lines at its
// limits, how many are missing and how far it has drifted.
PageSection data_section(const DataSpreads& spreads, const DataAnswer& data, const TableNames& names = {});

}  // namespace espalier
