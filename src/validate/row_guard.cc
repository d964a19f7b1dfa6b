#include "base/env.h"
#include "base/format.h"
#include "espalier/rows.h"
#include "validate/row_judgement.h"

namespace espalier {

struct RowGuard::Compiled {
  RowValidator validator;
  CsvTable blank;  // a row without values
};

namespace {

CsvTable blank_row(const std::vector<std::string>& columns) {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) text += i ? ",\"\"" : "\"\"";
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kNo, .names = columns});
}

CsvTable table_of(const CsvTable& blank, std::span<const std::string_view> values) {
  std::vector<CsvChange> changes;
  for (size_t i = 0; i < values.size(); ++i)
    changes.push_back({.row = 0, .column = static_cast<int64_t>(i), .text = std::string(values[i])});
  return blank.with_cells(changes);
}

}  // namespace

RowGuard RowGuard::parse(const std::string& schema, const std::vector<std::string>& columns,
                         const RowGuardOptions& options) {
  tfmd::Schema parsed;
  parse_metadata(schema, parsed);
  RowOptions asked{.missing = options.missing, .passed_over = options.passed_over};
  if (!options.environment.empty()) asked.environment = options.environment;
  if (options.set_aside) asked.policy = RowPolicy::kQuarantine;
  RowValidator validator(parsed, columns, asked);
  return RowGuard(std::make_shared<const Compiled>(Compiled{std::move(validator), blank_row(columns)}));
}

RowGuard RowGuard::load(const std::string& schema_file, const std::vector<std::string>& columns,
                        const RowGuardOptions& options) {
  const std::string schema = posix_env().read_file(schema_file);
  try {
    return parse(schema, columns, options);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(schema_file, ": ", error.message()), error.fix());
  } catch (const ValueError& error) {
    throw ValueError(error.rule(), cat(schema_file, ": ", error.message()), error.fix());
  }
}

const std::vector<std::string>& RowGuard::columns() const { return compiled_->blank.names(); }

RowVerdict RowGuard::judge(std::span<const std::string_view> values) const {
  const auto& [validator, blank] = *compiled_;
  if (values.size() != columns().size())
    throw ValueError("rows.values",
                     cat(values.size(), " values are given for ", columns().size(), " columns"));
  std::vector<CellFault> faults;
  validator.check(values, faults);
  if (faults.empty() && validator.rules().empty()) return {};
  const RowJudgement found = judge_rows(validator, table_of(blank, values));
  RowVerdict out{.outcome = found.outcomes[0]};
  for (const RuleCount& each : found.undecided) {
    if (!each.rule.warning) throw ValueError("expression.date", undecided_text(each));
    out.faults.push_back({"", "warning", undecided_text(each), RowOutcome::kGood});
  }
  for (const RowFinding& each : found.findings)
    out.faults.push_back(
        {each.column, each.rule, each.text, each.warning ? RowOutcome::kGood : outcome_of(each.policy)});
  if (out.outcome != RowOutcome::kReplaced) return out;
  for (int64_t c = 0; c < found.table.columns(); ++c) out.values.emplace_back(found.table.cell(0, c));
  return out;
}

}  // namespace espalier
