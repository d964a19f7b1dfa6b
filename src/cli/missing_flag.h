// Words for cells that hold no value, besides those that any table may use.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"

namespace espalier::cli {

struct MissingFlag {
  std::vector<std::string> more = {};

  // --missing.
  void add(CLI::App& verb);
  // Those of ColumnOptions and these.
  std::vector<std::string> all() const;
  // The flag as it was given.
  std::vector<std::string> words() const;
};

}  // namespace espalier::cli
