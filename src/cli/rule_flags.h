// What a schema says of single rows and cells, asked of a table.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/data_input.h"
#include "evaluate/not_compared.h"
#include "report/terminal.h"
#include "validate/row_judgement.h"

namespace espalier::cli {

// Tables whose rows are asked, each read once.
class AskedTables {
 public:
  // `how` outlives them.
  explicit AskedTables(const StatisticsFlags& how) : how_(how) {}
  // Null for what is no table of cells, and for standard input. Raises IoError, FormatError.
  const CsvTable* of(const std::string& file);
  std::vector<std::string> missing_words() const;

 private:
  const StatisticsFlags& how_;
  std::map<std::string, CsvTable> read_;
};

// What was asked of which table; nothing without one.
struct AskedRules {
  std::string file;
  int64_t rows = 0;
  std::vector<RuleCount> counts;

  bool has_errors() const;
  // Whether a rule that is an error could not be asked.
  bool undecided() const;
  // Each rule that could not be asked, those that only warn too.
  std::vector<NotCompared> not_compared() const;
  // "Rule "age >= 1" is broken by 7 rows. " of the first that is an error, and how many more, else
  // "Undecided: the rule "..." is asked of 0 of 3 rows, because .... "; "" where all are asked and hold.
  std::string sentence() const;
  // The rows that break that one. REQUIRES: has_errors().
  std::string broken() const;
  // A line for each rule, below a blank one.
  std::string text(const Terminal& terminal) const;
  nlohmann::ordered_json json() const;
};

// Of a CSV; of another file, and of standard input, nothing is asked. Notes on standard error name rules that
// are not asked. Raises IoError, FormatError, ValueError.
// A rule that could be asked of no row is undecided.
AskedRules ask_rules(const std::string& file, AskedTables& tables, const tfmd::Schema& schema);

// That a table can be asked the rules of a schema; of another file, and of standard input, nothing is asked.
// Raises IoError, FormatError, and ValueError[expression.*] as check_rules().
void check_rules_on(const std::string& file, AskedTables& tables, const tfmd::Schema& schema);

// Where the cells of some columns are not as the schema says.
struct BadCells {
  std::vector<RowFinding> findings;

  // A line for each way, below a blank one.
  std::string text(const Terminal& terminal) const;
  nlohmann::ordered_json json() const;
};

// Of these columns of a table; of another file, of standard input, and of what rows are not asked, nothing is
// found. Raises IoError, FormatError.
BadCells find_bad_cells(const std::string& file, AskedTables& tables, const tfmd::Schema& schema,
                        const std::optional<std::string>& environment, const std::set<std::string>& columns);

}  // namespace espalier::cli
