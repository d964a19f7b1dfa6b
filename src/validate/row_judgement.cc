#include "validate/row_judgement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "base/shortened.h"
#include "data/table_truths.h"
#include "format/decimal.h"

namespace espalier {
namespace {

// `refused` as of rule_meanings().
std::vector<Truth> ask(const SchemaRule& rule, const RowValidator& validator, const CsvTable& table,
                       std::vector<std::string>* refused) {
  return truths(
      rule.condition, table,
      [&](std::string_view cell, const std::string& column) { return validator.is_missing(cell, column); },
      validator.types(), rule_meanings(table, validator.missing(), refused));
}

// Why a rule that is missing on all rows is: the cells of its columns that say nothing.
std::string why_missing(const Expression& condition, const RowValidator& validator, const CsvTable& table) {
  std::string out;
  for (const std::string& name : condition.columns()) {
    const bool number = validator.types()(name) == ColumnType::kNumber;
    const int64_t column = table.column(name);
    int64_t missing = 0, none = 0;
    for (int64_t row = 0; row < table.rows(); ++row) {
      const bool is_missing = validator.is_missing(table.cell(row, column), name);
      missing += is_missing;
      none += number && !is_missing && std::isnan(table.number_or_nan(row, column));
    }
    if (missing + none == 0) continue;
    out += cat(out.empty() ? "" : ", ", "column ", column_in_message(name));
    if (missing) out += cat(" is missing in ", counted(missing, "row"));
    if (none) out += cat(missing ? " and" : "", " is no number in ", counted(none, "row"));
  }
  return out.empty() ? "no cell gives it a value" : out;
}

std::string joined_reasons(const std::vector<std::string>& refused) {
  std::string out;
  for (const std::string& why : refused) out += cat(out.empty() ? "" : "; ", why);
  return out;
}

class Judge {
 public:
  Judge(const RowValidator& validator, const CsvTable& table)
      : validator_(validator), table_(table), worst_(static_cast<size_t>(table.rows())) {}

  RowJudgement run() {
    read_cells();
    RowJudgement out{.table = table_.with_cells(kept_changes()), .rows = table_.rows()};
    ask_rules(out.table);
    out.replaced = std::ranges::count_if(
        changes_, [&](const CsvChange& each) { return worst_of(each.row) == RowOutcome::kReplaced; });
    for (auto& [key, finding] : findings_) out.findings.push_back(std::move(finding));
    name_lines(out);
    for (int64_t row = 0; row < table_.rows(); ++row) {
      const RowOutcome worst = worst_of(row);
      if (worst != RowOutcome::kSetAside) out.kept.push_back(row);
      out.refused += worst == RowOutcome::kRefused;
    }
    out.outcomes = std::move(worst_);
    out.undecided = std::move(undecided_);
    return out;
  }

 private:
  RowOutcome worst_of(int64_t row) const { return worst_[static_cast<size_t>(row)]; }

  // Of a feature and its rule, or of a rule behind all features.
  RowFinding& finding(size_t subject, size_t rule) { return findings_[{subject, rule}]; }

  void add(RowFinding& finding, int64_t row) {
    if (finding.lines.size() < RowFinding::kNamed) finding.lines.push_back(row);
    ++finding.rows;
    if (finding.warning) return;
    RowOutcome& worst = worst_[static_cast<size_t>(row)];
    worst = std::max(worst, outcome_of(finding.policy));
    if (finding.policy != RowPolicy::kQuarantine) return;
    std::string& reason = reasons_[row];
    reason +=
        cat(reason.empty() ? "" : "; ", finding.column, finding.column.empty() ? "not " : ": ", finding.text);
  }

  void read_cells() {
    std::vector<std::string_view> cells(static_cast<size_t>(table_.columns()));
    std::vector<std::string> with_points(table_.numbers().plain() ? 0 : cells.size());
    std::vector<CellFault> faults;
    for (int64_t row = 0; row < table_.rows(); ++row) {
      for (size_t c = 0; c < cells.size(); ++c) cells[c] = table_.cell(row, static_cast<int64_t>(c));
      for (size_t c = 0; c < with_points.size(); ++c) {
        std::optional<std::string> plain = table_.numbers().plain_number(cells[c], static_cast<int64_t>(c));
        if (!plain) continue;
        with_points[c] = std::move(*plain);
        cells[c] = with_points[c];
      }
      faults.clear();
      validator_.check(cells, faults);
      for (const CellFault& fault : faults) take(row, fault);
    }
  }

  void take(int64_t row, const CellFault& fault) {
    const RowFeature& feature = validator_.features()[fault.feature];
    RowFinding& into = finding(fault.feature, static_cast<size_t>(fault.rule));
    if (into.rows == 0)
      into = {.column = feature.name,
              .rule = std::string(name(fault.rule)),
              .text = feature.text_of(fault.rule),
              .policy = feature.policy};
    add(into, row);
    if (feature.policy == RowPolicy::kDefault)
      changes_.push_back({row, static_cast<int64_t>(feature.column), feature.value});
  }

  // In the order of the columns, and of rows that stay.
  std::vector<CsvChange>& kept_changes() {
    std::erase_if(changes_,
                  [&](const CsvChange& each) { return worst_of(each.row) != RowOutcome::kReplaced; });
    std::ranges::sort(changes_, {}, [](const CsvChange& each) { return std::pair(each.row, each.column); });
    return changes_;
  }

  void ask_rules(const CsvTable& table) {
    for (size_t i = 0; i < validator_.rules().size(); ++i) {
      const SchemaRule& rule = validator_.rules()[i];
      std::vector<std::string> refused;
      const std::vector<Truth> all = ask(rule, validator_, table, &refused);
      const int64_t missing = std::ranges::count(all, Truth::kMissing);
      if (missing > 0 && !refused.empty())
        undecided_.push_back(
            {.rule = rule, .rows = table.rows(), .missing = missing, .why = joined_reasons(refused)});
      for (int64_t row = 0; row < table.rows(); ++row) {
        if (all[static_cast<size_t>(row)] != Truth::kFalse) continue;
        RowFinding& into = finding(validator_.features().size(), i);
        if (into.rows == 0)
          into = {.column = "",
                  .rule = rule.warning ? "warning" : "rule",
                  .text = rule.condition.text(),
                  .policy = validator_.rule_policy(),
                  .warning = rule.warning};
        add(into, row);
      }
    }
  }

  // Numbers of rows become lines; who is refused is not set aside.
  void name_lines(RowJudgement& out) {
    if (out.findings.empty()) return;
    const std::vector<int64_t> lines = table_.lines();
    for (RowFinding& each : out.findings) {
      for (int64_t& line : each.lines) line = lines[static_cast<size_t>(line)];
    }
    for (auto& [row, reason] : reasons_) {
      if (worst_of(row) == RowOutcome::kSetAside)
        out.set_aside.push_back({row, lines[static_cast<size_t>(row)], std::move(reason)});
    }
  }

  const RowValidator& validator_;
  const CsvTable& table_;
  std::vector<RowOutcome> worst_;
  std::map<std::pair<size_t, size_t>, RowFinding> findings_;
  std::map<int64_t, std::string> reasons_;
  std::vector<CsvChange> changes_;
  std::vector<RuleCount> undecided_;
};

}  // namespace

RowOutcome outcome_of(RowPolicy policy) {
  if (policy == RowPolicy::kDefault) return RowOutcome::kReplaced;
  return policy == RowPolicy::kQuarantine ? RowOutcome::kSetAside : RowOutcome::kRefused;
}

RowJudgement judge_rows(const RowValidator& validator, const CsvTable& table) {
  return Judge(validator, table).run();
}

RowValidator rules_alone(const tfmd::Schema& schema, const std::vector<std::string>& columns,
                         const MissingWords& missing) {
  RowOptions options{.missing = missing};
  for (const tfmd::Feature& feature : schema.feature()) options.passed_over.push_back(feature.name());
  return RowValidator(schema, columns, options);
}

std::vector<RuleCount> count_rules(const RowValidator& validator, const CsvTable& table) {
  std::vector<RuleCount> out;
  for (const SchemaRule& rule : validator.rules()) {
    RuleCount& count = out.emplace_back(RuleCount{.rule = rule, .rows = table.rows()});
    std::vector<std::string> refused;
    const std::vector<Truth> all = ask(rule, validator, table, &refused);
    for (int64_t row = 0; row < table.rows(); ++row) {
      const Truth truth = all[static_cast<size_t>(row)];
      count.missing += truth == Truth::kMissing;
      if (truth != Truth::kFalse) continue;
      if (++count.broken <= static_cast<int64_t>(RowFinding::kNamed)) count.lines.push_back(table.line(row));
    }
    if (count.missing == 0) continue;
    count.why = joined_reasons(refused);
    if (refused.empty() && count.missing == count.rows)
      count.why = why_missing(rule.condition, validator, table);
  }
  return out;
}

void check_rules(const RowValidator& validator, const CsvTable& table) {
  for (const SchemaRule& rule : validator.rules()) ask(rule, validator, table, nullptr);
}

std::string undecided_text(const RuleCount& count) {
  return cat("the rule \"", shortened(count.rule.condition.text()), "\" is asked of ",
             count.rows - count.missing, " of ", counted(count.rows, "row"), ", because ", count.why);
}

}  // namespace espalier
