#include "cli/rule_flags.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/input_file.h"
#include "base/shortened.h"
#include "report/table.h"
#include "validate/sketch_files.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

void note(const std::string& text) { std::fputs(cat("note: ", text, "\n").c_str(), stderr); }

std::string line_list(const std::vector<int64_t>& lines) {
  std::string out;
  for (const int64_t line : lines) out += cat(out.empty() ? "" : ", ", line);
  return out;
}

bool is_table(const std::string& path) {
  return !is_stream(path) && !holds_messages({path, path}) && !is_sketch_file(path);
}

}  // namespace

const CsvTable* AskedTables::of(const std::string& file) {
  if (const auto found = read_.find(file); found != read_.end()) return &found->second;
  if (!is_table(file)) return nullptr;
  try {
    return &read_.emplace(file, how_.table.read(file, {}, Results())).first->second;
  } catch (const FormatError& error) {
    // Statistics are of lists too, rules of cells alone.
    if (error.rule() != "rows.several") throw;
    return nullptr;
  }
}

std::vector<std::string> AskedTables::missing_words() const {
  std::vector<std::string> out = comma_separated({how_.missing});
  out.emplace_back();
  return out;
}

namespace {

bool is_error(const RuleCount& count) { return count.broken > 0 && !count.rule.warning; }
bool is_open(const RuleCount& count) { return count.undecided() && !count.rule.warning; }
std::string and_more(int64_t more) { return more > 0 ? cat("; and ", more, " more") : ""; }

}  // namespace

bool AskedRules::has_errors() const { return std::ranges::any_of(counts, is_error); }

bool AskedRules::undecided() const { return std::ranges::any_of(counts, is_open); }

std::vector<NotCompared> AskedRules::not_compared() const {
  std::vector<NotCompared> out;
  for (const RuleCount& each : counts) {
    if (each.undecided()) out.push_back({.column = "", .why = undecided_text(each)});
  }
  return out;
}

std::string AskedRules::sentence() const {
  if (!has_errors() && undecided())
    return cat("Undecided: ", undecided_text(*std::ranges::find_if(counts, is_open)),
               and_more(std::ranges::count_if(counts, is_open) - 1), ". ");
  if (!has_errors()) return "";
  const RuleCount& first = *std::ranges::find_if(counts, is_error);
  const auto more = std::ranges::count_if(counts, is_error) - 1;
  return cat("Rule \"", printable(first.rule.condition.text()), "\" is broken by ",
             counted(first.broken, "row"), more > 0 ? cat(", and ", more, " more") : "", ". ");
}

std::string AskedRules::broken() const {
  return cat("not (", std::ranges::find_if(counts, is_error)->rule.condition.text(), ")");
}

std::string AskedRules::text(const Terminal& terminal) const {
  if (counts.empty()) return "";
  Table table({"rule", "severity", "rows that break it", "of", "missing", "first lines"});
  for (const RuleCount& each : counts) {
    const bool error = !each.rule.warning;
    table.row({shortened(each.rule.condition.text()),
               {error ? "ERROR" : "WARNING", error && each.broken ? Ink::kBad : Ink::kPlain},
               each.broken,
               rows,
               each.missing,
               line_list(each.lines)});
  }
  const std::string rest = espalier::text(not_compared());
  return cat("\n", table.text(terminal), rest.empty() ? "" : "\n", rest);
}

Json AskedRules::json() const {
  Json out = {{"file", file}, {"rows", rows}, {"rules", Json::array()}};
  for (const RuleCount& each : counts)
    out["rules"].push_back({{"condition", each.rule.condition.text()},
                            {"severity", each.rule.warning ? "WARNING" : "ERROR"},
                            {"broken", each.broken},
                            {"missing", each.missing},
                            {"undecided", each.undecided()},
                            {"lines", each.lines}});
  return out;
}

std::string BadCells::text(const Terminal& terminal) const {
  if (findings.empty()) return "";
  Table table({"column", "cells", "rows", "first lines"});
  for (const RowFinding& each : findings)
    table.row({shortened(each.column), each.text, each.rows, line_list(each.lines)});
  return "\n" + table.text(terminal);
}

Json BadCells::json() const {
  Json out = Json::array();
  for (const RowFinding& each : findings)
    out.push_back({{"column", each.column}, {"rule", each.rule}, {"rows", each.rows}, {"lines", each.lines}});
  return out;
}

BadCells find_bad_cells(const std::string& file, AskedTables& tables, const tfmd::Schema& schema,
                        const std::optional<std::string>& environment, const std::set<std::string>& columns) {
  const CsvTable* const table = columns.empty() ? nullptr : tables.of(file);
  if (!table) return {};
  const std::vector<std::string>& names = table->names();
  RowOptions options{.environment = environment, .missing = tables.missing_words()};
  for (const tfmd::Feature& feature : schema.feature()) {
    if (!columns.contains(feature.name()) || !std::ranges::count(names, feature.name()))
      options.passed_over.push_back(feature.name());
  }
  BadCells out;
  try {
    out.findings = judge_rows(RowValidator(schema, names, options), *table).findings;
  } catch (const ValueError&) {
    // The schema asks for what no cell holds.
  }
  std::erase_if(out.findings, [](const RowFinding& each) { return each.column.empty(); });
  return out;
}

AskedRules ask_rules(const std::string& file, AskedTables& tables, const tfmd::Schema& schema) {
  const size_t rules = tags_of(schema).rules.size();
  if (rules == 0) return {};
  const CsvTable* const table = tables.of(file);
  if (!table) {
    note(cat("the schema's ", rules, " rules are asked of rows: --rows FILE"));
    return {};
  }
  const RowValidator validator = rules_alone(schema, table->names(), tables.missing_words());
  for (const SchemaRule& rule : validator.rules_left_out())
    note(cat("\"", printable(rule.condition.text()), "\" is not asked: a column is not in ",
             source_name(file)));
  return {file, table->rows(), count_rules(validator, *table)};
}

void check_rules_on(const std::string& file, AskedTables& tables, const tfmd::Schema& schema) {
  if (tags_of(schema).rules.empty()) return;
  if (const CsvTable* const table = tables.of(file))
    check_rules(rules_alone(schema, table->names(), tables.missing_words()), *table);
}

}  // namespace espalier::cli
