// All rows of a table against a schema: which stay, which cells are replaced, which rows are set aside, and
// why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/csv.h"
#include "espalier/rows.h"
#include "validate/row_validator.h"

namespace espalier {

// One way in which rows are not as the schema says.
struct RowFinding {
  static constexpr size_t kNamed = 5;
  std::string column = {};  // "" of a rule
  std::string rule = {};    // name(RowRule), "rule" or "warning"
  std::string text = {};    // "above 90", or the condition that is false
  RowPolicy policy = RowPolicy::kRefuse;
  bool warning = false;  // no more than said
  int64_t rows = 0;
  std::vector<int64_t> lines = {};  // of the first kNamed of them, from 1
};

// What a rule is of the rows of a table.
struct RuleCount {
  SchemaRule rule;
  int64_t rows = 0;                 // of the table
  int64_t broken = 0, missing = 0;  // rows of which it is false, or missing
  std::vector<int64_t> lines = {};  // of the first RowFinding::kNamed that break it
  // Why it could be asked of no row, or of too few since a date in it is not read; "" where it is decided.
  std::string why = {};

  // No pass, whatever the other rows say.
  bool undecided() const { return !why.empty(); }
};
// "the rule "pay > 0" is asked of 0 of 3 rows, because column "pay" is missing in 3 rows". REQUIRES:
// undecided().
std::string undecided_text(const RuleCount& count);
struct SetAside {
  int64_t row = 0, line = 0;
  std::string reason;  // "age: above 90; job: missing"
};

struct RowJudgement {
  CsvTable table = {};                    // with defaults in place
  std::vector<int64_t> kept = {};         // rows, in order: those that are not set aside
  std::vector<SetAside> set_aside = {};   // in order
  int64_t rows = 0, refused = 0;          // rows; one that is refused is not set aside
  int64_t replaced = 0;                   // cells, of rows that stay
  std::vector<RowOutcome> outcomes = {};  // of each row
  std::vector<RowFinding> findings = {};  // of columns in the order of the schema, then of rules
  // Rules that rows neither fulfil nor break, since a comparison in them has no order.
  std::vector<RuleCount> undecided = {};
};

// What a fault of this policy makes of a row.
RowOutcome outcome_of(RowPolicy policy);

// A row is refused if any of its faults is, else set aside if any of them sets it aside. Rules are asked of
// the table with defaults in place; a cell that cannot be read is missing to them, and a rule is broken where
// its condition is false. Whoever lets rows pass looks at `undecided`, too. REQUIRES: a table with the
// validator's columns.
RowJudgement judge_rows(const RowValidator& validator, const CsvTable& table);

// Of a schema nothing but its rules, for count_rules(). Raises as RowValidator's constructor.
RowValidator rules_alone(const tfmd::Schema& schema, const std::vector<std::string>& columns,
                         const MissingWords& missing);
// Rules by themselves, of the cells as they are. Of a table without rows each rule holds.
std::vector<RuleCount> count_rules(const RowValidator& validator, const CsvTable& table);
// Raises ValueError[expression.*] with a caret for the first rule that asks this table for an order in time
// that nobody knows, as one with a date in an unknown form.
void check_rules(const RowValidator& validator, const CsvTable& table);

}  // namespace espalier
