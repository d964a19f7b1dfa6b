#include "cli/rule_flags.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "report/table.h"
#include "validate/sketch_files.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

void note(const std::string& text) { std::fputs(cat("note: ", text, "\n").c_str(), stderr); }

std::string joined(const std::vector<int64_t>& lines) {
  std::string out;
  for (const int64_t line : lines) out += cat(out.empty() ? "" : ", ", line);
  return out;
}

bool is_csv(const std::string& path) {
  return path != "-" && !holds_messages({path, path}) && !is_sketch_file(path) &&
         table_form(path) == TableForm::kCsv;
}

}  // namespace

bool AskedRules::has_errors() const {
  return std::ranges::any_of(counts, [](const RuleCount& each) { return each.broken && !each.rule.warning; });
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
               joined(each.lines)});
  }
  return "\n" + table.text(terminal);
}

Json AskedRules::json() const {
  Json out = {{"file", file}, {"rows", rows}, {"rules", Json::array()}};
  for (const RuleCount& each : counts)
    out["rules"].push_back({{"condition", each.rule.condition.text()},
                            {"severity", each.rule.warning ? "WARNING" : "ERROR"},
                            {"broken", each.broken},
                            {"missing", each.missing},
                            {"lines", each.lines}});
  return out;
}

AskedRules ask_rules(const std::string& file, const StatisticsFlags& how, const tfmd::Schema& schema) {
  const size_t rules = tags_of(schema).rules.size();
  if (rules == 0) return {};
  if (!is_csv(file)) {
    note(cat("the schema's ", rules, " rules are asked of rows: --rows FILE"));
    return {};
  }
  const CsvTable table = how.table.read(file);
  std::vector<std::string> missing = comma_separated({how.missing});
  missing.emplace_back();
  const RowValidator validator = rules_alone(schema, table.names(), std::move(missing));
  for (const SchemaRule& rule : validator.rules_left_out())
    note(cat("\"", printable(rule.condition.text()), "\" is not asked: a column is not in ",
             source_name(file)));
  return {file, table.rows(), count_rules(validator, table)};
}

}  // namespace espalier::cli
