// Rows that lie outside of what a model was trained on, and how good it is on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fairness/assessment.h"
#include "report/terminal.h"
#include "tables/scored_table.h"

namespace espalier::cli {

struct Envelope {
  struct Column {
    std::string name;
    int64_t rows = 0;
    std::string why;  // "outside 17 to 90"
  };
  int64_t rows = 0, outside = 0;
  std::vector<Column> columns = {};  // those of most rows first
  // By the slices "rows=inside" and "rows=outside"; none where no row lies outside.
  std::optional<Assessment> assessment = {};
};
// `report` is of the very rows that were scored.
Envelope envelope_of(const ColumnReport& report, const ScoredTable& scored, double threshold);

// "" where no row lies outside.
std::string text_of(const Envelope& envelope, const Terminal& terminal);
nlohmann::ordered_json json_of(const Envelope& envelope);

}  // namespace espalier::cli
