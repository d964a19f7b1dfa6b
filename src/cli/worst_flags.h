// The slices of a table in which a model does worst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common.h"
#include "data/missing_words.h"
#include "fairness/worst_slices.h"
#include "report/terminal.h"
#include "tables/scored_table.h"

namespace espalier::cli {

struct WorstFlags {
  int64_t most = 0, depth = 2;

  // --worst, --depth.
  void add(CLI::App& verb);
  bool any() const { return most > 0; }
  // The flags that were given.
  std::vector<std::string> words() const;
  // Of the table's columns but for `others`: those of a few values, and numbers in quarters; the rest are
  // warned of. Raises as worst_slices().
  WorstSlices find(const ScoredTable& scored, const std::vector<std::string>& others,
                   const MissingWords& missing, const WorstOptions& options, const Results& results) const;
};

std::string text_of(const WorstSlices& worst, const WorstOptions& options, const Terminal& terminal);
nlohmann::ordered_json json_of(const WorstSlices& worst, const WorstOptions& options);

}  // namespace espalier::cli
