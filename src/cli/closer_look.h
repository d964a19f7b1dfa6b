// The commands that look closer at what `espalier check` found.
#pragma once

#include <string>
#include <vector>

#include "cli/check_run.h"
#include "gate/verdict.h"

namespace espalier::cli {

struct CloserLook {
  const CheckRun& run;
  const SliceFlags& slicing;  // of flags and gates
  const ScoredTable& rows;
  const Assessment& assessment;
  const std::optional<Tables>& tables;

  // Where the rows are worst.
  std::vector<std::string> all() const;
  // The slices that a gate is of, or the tables.
  std::vector<std::string> at(const Gate& gate) const;
};

}  // namespace espalier::cli
