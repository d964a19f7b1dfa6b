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

}  // namespace espalier
