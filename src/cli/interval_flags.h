// How intervals of slices are found.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"
#include "evaluate/replicates.h"

namespace espalier::cli {

struct IntervalFlags {
  std::string method = "wilson";
  int64_t replicates = 200;
  uint64_t seed = 0;

  // --interval, --replicates, --seed.
  void add(CLI::App& verb);
  // The flags that were given.
  std::vector<std::string> words() const;
  Resampling resampling() const;
};

}  // namespace espalier::cli
