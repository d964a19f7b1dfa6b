// Columns that know the label.
#pragma once

#include <string>

#include "data/column_label.h"

namespace espalier {

struct Leak {
  bool same = false;           // the label under another name
  std::string suspicion = {};  // a note's text; empty without one
};
// Tables of few rows give no evidence.
Leak find_leak(const ColumnProfile& profile, const FittedLabel& label);

}  // namespace espalier
