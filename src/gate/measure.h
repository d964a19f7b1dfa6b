// The numbers that a gate is about, before they are held against its limits.
#pragma once

#include "gate/verdict.h"

namespace espalier {

struct Measured {
  std::vector<Finding> findings;        // at least one
  std::set<std::string> left_out = {};  // slices of too few rows
};
// Findings without a ruling.
Measured measure(const Gate& gate, const Assessment& assessment, const Assessment* baseline, double level);
// The same of a gate on data: each column that has faults counts them; what was not compared is a finding
// without a number; without either all columns count none.
Measured measure_data(const Gate& gate, const DataAnswer* answer);

}  // namespace espalier
