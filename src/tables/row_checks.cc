#include "tables/row_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/csv_writer.h"
#include "report/table.h"
#include "strategy/replicas.h"
#include "validate/metadata_files.h"
#include "validate/schema_parts.h"
#include "validate/schema_tags.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

std::string rows_text(int64_t rows) { return cat(rows, rows == 1 ? " row" : " rows"); }

// "age: above 90 in 7 rows, the first in lines 3, 9, 12".
std::string finding_text(const RowFinding& finding) {
  std::string lines;
  for (const int64_t line : finding.lines) lines += cat(lines.empty() ? "" : ", ", line);
  const bool all = finding.rows == std::ssize(finding.lines);
  return cat(finding.column.empty() ? "not " : cat(shortened(finding.column), ": "), printable(finding.text),
             " in ", rows_text(finding.rows), ", ", all ? "" : "the first in ",
             finding.lines.size() == 1 ? "line " : "lines ", lines);
}

Json finding_json(const RowFinding& finding) {
  return {
      {"column", finding.column}, {"rule", finding.rule},
      {"text", finding.text},     {"policy", finding.warning ? "warning" : std::string(name(finding.policy))},
      {"rows", finding.rows},     {"lines", finding.lines}};
}

using Counts = std::array<int64_t, std::size(kRowOutcomes)>;  // by RowOutcome
using Slices = std::map<std::string, Counts, std::less<>>;

int64_t counted_rows(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Those of which most rows are not good come first.
std::string slices_text(const std::string& column, const Slices& slices) {
  constexpr size_t kShown = 20;
  std::vector<std::pair<double, const Slices::value_type*>> all;
  for (const auto& slice : slices)
    all.emplace_back(static_cast<double>(slice.second[0]) / static_cast<double>(counted_rows(slice.second)),
                     &slice);
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first; });
  Table table({shortened(column), "rows", "good", "replaced", "set aside", "refused"});
  for (size_t i = 0; i < std::min(kShown, all.size()); ++i) {
    const auto& [value, counts] = *all[i].second;
    table.row({value.empty() ? "(missing)" : shortened(value), counted_rows(counts), counts[0], counts[1],
               counts[2], counts[3]});
  }
  return cat(table.text(Terminal::of(STDERR_FILENO)),
             all.size() > kShown ? cat("and ", all.size() - kShown, " more\n") : "");
}

Json finding_json(const Slices& slices) {
  Json out = Json::array();
  for (const auto& [value, counts] : slices) {
    Json& slice = out.emplace_back(Json{{"value", value}, {"rows", counted_rows(counts)}});
    for (size_t i = 0; i < counts.size(); ++i) slice[std::string(kRowOutcomes[i])] = counts[i];
  }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 5;
  std::string out;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    out += cat(i == 0 ? "" : ", ", shortened(names[i]));
  return names.size() > kNamed ? cat(out, " and ", names.size() - kNamed, " more") : out;
}

}  // namespace

RowChecks::RowChecks(const RowCheckOptions& options, const std::vector<std::string>& inputs,
                     const std::optional<KeptSchema>& kept)
    : options_(options), name_(options.schema) {
  const bool use_kept = options.schema.empty() && !options.none && kept;
  if (options.schema.empty() && !use_kept) {
    if (options.environment.empty() && options.quarantine.empty() && options.slice.empty()) return;
    throw ValueError(
        "rows.schema",
        "an environment, a quarantine and a slice are of rows held against a schema, and there is none",
        "--schema FILE");
  }
  if (!options.quarantine.empty()) {
    keep_inputs(options.quarantine, inputs);
    keep_inputs(options.quarantine, {options.schema});
  }
  if (!use_kept) {
    read_metadata(options.schema, schema_.emplace());
    return;
  }
  name_ = kept->name;
  try {
    parse_metadata(kept->text, schema_.emplace());
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(name_, ": ", error.message()), error.fix());
  }
}

void RowChecks::refuse(const Checked& of, bool may_set_aside) const {
  const RowJudgement& found = of.judgement;
  std::string message = cat(source_name(of.path), ": ", found.refused, " of ", rows_text(found.rows),
                            found.refused == 1 ? " is" : " are", " not as ", name_, " says");
  for (const RowFinding& finding : found.findings) {
    if (!finding.warning && finding.policy == RowPolicy::kRefuse) message += "\n  " + finding_text(finding);
  }
  if (!options_.slice.empty()) message += cat("\n", slices_text(options_.slice, of.slices));
  throw ValueError("rows.refused", message, may_set_aside ? "--quarantine FILE sets such rows aside" : "");
}

// What is no reason to stop.
void RowChecks::say(const Checked& of, const Messages& messages) const {
  const std::string name = source_name(of.path);
  for (const SchemaRule& rule : of.left_out)
    messages.note(
        cat(name, ": \"", printable(rule.condition.text()), "\" is not asked: a column is not there"));
  if (!of.new_columns.empty())
    messages.note(cat(name, ": columns that the schema does not know: ", listed(of.new_columns)));
  const RowJudgement& found = of.judgement;
  std::vector<std::string> warnings;
  for (const RowFinding& each : found.findings) {
    const char* done = each.warning                         ? ""
                       : each.policy == RowPolicy::kDefault ? ": the default stands for them"
                                                            : ": set aside";
    warnings.push_back(cat(name, ": ", finding_text(each), done));
  }
  if (!found.set_aside.empty())
    warnings.push_back(cat(name, ": ", found.set_aside.size(), " of ", rows_text(found.rows),
                           " set aside in ", options_.quarantine));
  messages.warn(warnings);
  if (!options_.slice.empty()) messages.show(slices_text(options_.slice, of.slices));
}

// "" stands for missing values.
void RowChecks::count_slices(Checked& of) const {
  constexpr size_t kMost = 200;
  const auto found = std::ranges::find(of.names, options_.slice);
  if (found == of.names.end()) throw_unknown("rows.slice", "column", options_.slice, of.names);
  const int64_t column = found - of.names.begin();
  for (int64_t row = 0; row < of.table.rows(); ++row) {
    const std::string_view value = of.table.cell(row, column);
    const auto known = of.slices.find(value);
    auto& counts = known != of.slices.end() ? known->second : of.slices[std::string(value)];
    ++counts[static_cast<size_t>(of.judgement.outcomes[static_cast<size_t>(row)])];
    if (of.slices.size() > kMost)
      throw ValueError("rows.slice", cat(source_name(of.path), ": column \"", shortened(options_.slice),
                                         "\" has more than ", kMost, " values, too many to count by"));
  }
}

const RowJudgement& RowChecks::check(const std::string& path, const CsvTable& table,
                                     std::vector<std::string> names, const MissingWords& missing,
                                     const std::vector<std::string>& passed_over, const Messages& messages) {
  Checked& out = tables_.emplace_back(Checked{.path = path, .table = table, .names = std::move(names)});
  if (!schema_) {
    out.judgement.table = table;
    out.judgement.kept.resize(static_cast<size_t>(table.rows()));
    std::iota(out.judgement.kept.begin(), out.judgement.kept.end(), 0);
    return out.judgement;
  }
  RowOptions options{.missing = missing, .passed_over = passed_over};
  if (!options_.environment.empty()) options.environment = options_.environment;
  if (!options_.quarantine.empty()) options.policy = RowPolicy::kQuarantine;
  try {
    const RowValidator validator(*schema_, out.names, options);
    out.judgement = judge_rows(validator, table);
    out.new_columns = validator.new_columns();
    out.left_out = validator.rules_left_out();
    for (const RuleCount& each : out.judgement.undecided) {
      if (!each.rule.warning) throw ValueError("expression.date", undecided_text(each));
      messages.warn({cat(source_name(path), ": ", undecided_text(each))});
    }
  } catch (const ValueError& error) {
    throw ValueError(error.rule(), cat(name_, ", ", source_name(path), ": ", error.message()), error.fix());
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(name_, ": ", error.message()), error.fix());
  }
  if (!options_.slice.empty()) count_slices(out);
  if (out.judgement.refused > 0) {
    // A policy that the schema names counts more than the flag.
    options.policy = RowPolicy::kQuarantine;
    refuse(out, options_.quarantine.empty() &&
                    judge_rows(RowValidator(*schema_, out.names, options), table).refused == 0);
  }
  const size_t aside = out.judgement.set_aside.size();
  if (aside > 0 && options_.quarantine.empty())
    throw ValueError(
        "rows.quarantine",
        cat(source_name(path), ": ", name_, " sets ", aside, " of ", rows_text(out.judgement.rows),
            " aside, and no file is named for them; first:\n  ", "line ", out.judgement.set_aside[0].line,
            ": ", printable(out.judgement.set_aside[0].reason)),
        "--quarantine FILE");
  say(out, messages);
  return out.judgement;
}

MissingWords RowChecks::missing(const std::vector<std::string>& words) const {
  return schema_ ? with_domains(words, *schema_) : words;
}

void RowChecks::write() const {
  if (options_.quarantine.empty()) return;
  std::vector<std::string> columns;
  for (const Checked& each : tables_) {
    for (const std::string& name : each.names) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
  }
  CsvWriter out;
  out.cell("file").cell("line").cell("reason");
  for (const std::string& column : columns) out.cell(column);
  out.end_row();
  for (const Checked& each : tables_) {
    for (const SetAside& aside : each.judgement.set_aside) {
      out.cell(source_name(each.path)).cell(cat(aside.line)).cell(aside.reason);
      for (const std::string& column : columns) {
        const auto at = std::ranges::find(each.names, column) - each.names.begin();
        out.cell(at == std::ssize(each.names) ? std::string_view() : each.table.cell(aside.row, at));
      }
      out.end_row();
    }
  }
  if (is_chief()) posix_env().write_file(options_.quarantine, out.text());
}

Json RowChecks::json() const {
  if (!schema_) return nullptr;
  Json out = {{"file", name_}, {"tables", Json::array()}};
  if (!options_.environment.empty()) out["environment"] = options_.environment;
  if (!options_.quarantine.empty()) out["quarantine"] = options_.quarantine;
  for (const Checked& each : tables_) {
    const RowJudgement& found = each.judgement;
    Json table = {{"file", each.path},
                  {"rows", found.rows},
                  {"kept", found.kept.size()},
                  {"set_aside", found.set_aside.size()},
                  {"replaced_cells", found.replaced},
                  {"findings", Json::array()},
                  {"new_columns", each.new_columns}};
    for (const RowFinding& finding : found.findings) table["findings"].push_back(finding_json(finding));
    if (!options_.slice.empty())
      table["slices"] = {{"column", options_.slice}, {"values", finding_json(each.slices)}};
    out["tables"].push_back(table);
  }
  return out;
}

std::string RowChecks::favourable(const std::string& label) const {
  if (!schema_) return "";
  for (const tfmd::Feature& feature : schema_->feature()) {
    if (feature.name() == label) return tags_of(feature).favourable;
  }
  return "";
}

std::string RowChecks::schema_text() const {
  return schema_ ? metadata_bytes(*schema_, MetadataForm::kText) : "";
}

}  // namespace espalier
