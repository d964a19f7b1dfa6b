// The rules of a schema, asked of the rows of a table.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/data_input.h"
#include "report/terminal.h"
#include "validate/row_judgement.h"

namespace espalier::cli {

// What was asked of which table; nothing without one.
struct AskedRules {
  std::string file;
  int64_t rows = 0;
  std::vector<RuleCount> counts;

  bool has_errors() const;
  // A line for each rule, below a blank one.
  std::string text(const Terminal& terminal) const;
  nlohmann::ordered_json json() const;
};

// Of a CSV; of another file, and of standard input, nothing is asked. Notes on standard error name rules that
// are not asked. Raises IoError, FormatError, ValueError.
AskedRules ask_rules(const std::string& file, const StatisticsFlags& how, const tfmd::Schema& schema);

}  // namespace espalier::cli
