// espalier data bias: whom a table is about, whom it lacks, and which columns give that away.
#include "fairness/data_bias.h"

#include <algorithm>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/input_file.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/slice_choice.h"
#include "cli/table_flags.h"
#include "data/column_steps.h"
#include "data/equal_values.h"
#include "espalier/error.h"
#include "report/table.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/scores.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BiasRun {
  std::string file, reference;
  DataBiasOptions options;
  TableReading table;
  MissingChoice missing;
  Results results;
};

// A CSV of column, group, share.
std::map<std::string, std::map<std::string, double>> read_reference(const std::string& path) {
  const CsvTable table = TableReading{.header = "yes"}.read(path, {"column", "group", "share"}, Results());
  const int64_t column = table.column("column"), group = table.column("group"), share = table.column("share");
  std::map<std::string, std::map<std::string, double>> out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const std::optional<double> value = table.number(row, share);
    if (!value) {
      throw ValueError("bias.reference",
                       cat(source_name(path), ", line ", table.line(row), ": the share is no number"));
    }
    out[std::string(table.cell(row, column))][std::string(table.cell(row, group))] = *value;
  }
  return out;
}

std::string interval_text(const Interval& interval) {
  return cat(fixed(interval.low, 3), " to ", fixed(interval.high, 3));
}

std::string groups_text(const ColumnBias& column, const DataBiasOptions& options, const Terminal& terminal) {
  const bool expected =
      std::ranges::any_of(column.groups, [](const auto& group) { return !!group.expected; });
  std::vector<std::string> heads = {column.column, "rows", "share", "95 % interval"};
  if (expected) heads.insert(heads.end(), {"expected", ""});
  if (!options.label.empty())
    heads.insert(heads.end(), {cat(options.label, "=", options.positive), "95 % interval "});
  Table table(heads);
  for (const GroupBias& group : column.groups) {
    std::vector<TableCell> row = {group.group, group.rows.rows, fixed(group.rows.share, 3),
                                  interval_text(group.rows.interval)};
    if (expected) {
      row.emplace_back(group.expected ? fixed(*group.expected, 3) : "-");
      row.emplace_back(!group.off ? "" : group.rows.share < *group.expected ? "too few" : "too many");
    }
    if (!options.label.empty()) {
      row.emplace_back(group.positives ? fixed(group.positives->share, 3) : "-");
      row.emplace_back(group.positives ? interval_text(group.positives->interval) : "");
    }
    table.row(row);
  }
  return table.text(terminal);
}

// What is worth a sentence.
std::vector<std::string> findings(const DataBias& bias) {
  std::vector<std::string> out;
  for (const ColumnBias& column : bias.columns) {
    for (const GroupBias& group : column.groups) {
      if (!group.off) continue;
      out.push_back(cat(column.column, "=", group.group, " is ", fixed(group.rows.share, 3),
                        " of the rows and ", fixed(*group.expected, 3), " of the population (95 % interval ",
                        interval_text(group.rows.interval), "; ", group.rows.of, " rows)"));
    }
    for (const MissingGap& gap : column.missing) out.push_back(text(gap, column.column));
    for (const Proxy& proxy : column.proxies) {
      out.push_back(cat(proxy.column, " tells ", column.column, "=", proxy.group, ": area ",
                        fixed(proxy.area, 3), " (95 % interval ", interval_text(proxy.interval), ")"));
    }
  }
  for (const ThinCross& cross : bias.thin) out.push_back(cat(cross.name, ": ", cross.rows, " rows"));
  return out;
}

Json bias_json(const Interval& interval) { return {interval.low, interval.high}; }
Json bias_json(const ShareOfRows& share) {
  return {{"rows", share.rows},
          {"of", share.of},
          {"share", share.share},
          {"interval", bias_json(share.interval)}};
}
Json bias_json(const DataBias& bias) {
  Json columns = Json::array(), thin = Json::array();
  for (const ColumnBias& column : bias.columns) {
    Json groups = Json::array(), missing = Json::array(), proxies = Json::array();
    for (const GroupBias& group : column.groups) {
      Json& its = groups.emplace_back(Json{{"group", group.group}});
      its.update(bias_json(group.rows));
      if (group.expected) its.update(Json{{"expected", *group.expected}, {"off", group.off}});
      if (group.positives) its["positives"] = bias_json(*group.positives);
    }
    for (const MissingGap& gap : column.missing) {
      missing.push_back({{"column", gap.column},
                         {"most", gap.most},
                         {"least", gap.least},
                         {"share_of_most", gap.share_of_most},
                         {"share_of_least", gap.share_of_least},
                         {"interval", bias_json(gap.interval)}});
    }
    for (const Proxy& proxy : column.proxies) {
      proxies.push_back({{"column", proxy.column},
                         {"group", proxy.group},
                         {"area", proxy.area},
                         {"interval", bias_json(proxy.interval)}});
    }
    columns.push_back(
        {{"column", column.column}, {"groups", groups}, {"missing", missing}, {"proxies", proxies}});
  }
  for (const ThinCross& cross : bias.thin) thin.push_back({{"cross", cross.name}, {"rows", cross.rows}});
  return {{"columns", columns}, {"thin_crosses", thin}};
}

// How columns that were only taken for sensitive become so in a schema.
std::string proposal(const BiasRun& run, const std::vector<std::string>& columns) {
  std::vector<std::string> words = {"data", "schema", run.file};
  std::string names;
  for (const std::string& column : columns) {
    names += cat(names.empty() ? "" : ", ", printable(column));
    words.insert(words.end(), {"--set", cat(column, ".role=sensitive")});
  }
  for (const std::string& word : run.table.words()) words.push_back(word);
  for (const std::string& word : run.missing.words_for(words)) words.push_back(word);
  words.insert(words.end(), {"--out", "schema.pbtxt"});
  return cat("Taken for sensitive, by name or values: ", names, "; a schema keeps it: ", command(words),
             "\n");
}

// Which of two labels is counted. Never the rarer one: that may be another in the file of another month.
PositiveClass positive_of(const CsvTable& table, const std::string& file, const DataBiasOptions& options) {
  const ColumnProfile labels =
      profile_values(table, all_rows(table), table.column(options.label), options.missing);
  std::set<std::string> words;
  for (const ColumnProfile::Value& value : labels.values) words.emplace(value.text);
  std::vector<std::string> classes(words.begin(), words.end());
  if (!options.positive.empty()) return {options.positive, PositiveBecause::kFlag, ""};
  PositiveClass out;
  if (classes.size() == 1 || classes.size() == 2) out = positive_class(PositiveSaid(), classes);
  if (out.known()) return out;
  classes.resize(std::min<size_t>(classes.size(), 2));
  throw ValueError("bias.positive",
                   cat(source_name(file), ": \"", options.label, "\" has ",
                       counted(labels.different(), "value"), ", and which of them is counted is not said"),
                   positive_flags(classes));
}

void bias(const BiasRun& run) {
  run.results.keep({run.file, run.reference, run.missing.schema});
  const CsvTable table = run.table.read(run.file, {}, run.results);
  DataBiasOptions options = run.options;
  options.missing = run.missing.read();
  if (options.label == "last") options.label = table.names().back();
  PositiveClass positive;
  if (!options.label.empty()) positive = positive_of(table, run.file, options);
  options.positive = positive.value;
  if (!run.reference.empty()) options.reference = read_reference(run.reference);
  if (options.columns.empty()) {
    options.columns = sensitive_columns(table);
    if (options.columns.empty()) {
      throw ValueError(
          "bias.groups",
          cat("no column of ", source_name(run.file), " tells by its name or its values whom a row is about"),
          "--sensitive COLUMN");
    }
  }
  const DataBias found = data_bias(table, options);
  if (run.results.json) {
    Json body = {{"file", run.file},
                 {"rows", table.rows()},
                 {"sensitive", options.columns},
                 {"proposed", run.options.columns.empty()}};
    if (!options.label.empty()) add_positive(body, positive);
    body.update(bias_json(found));
    return run.results.write_json("data bias", body);
  }
  const Terminal terminal = run.results.terminal();
  const std::vector<std::string> said = findings(found);
  std::string text = said.empty()
                         ? cat("Nothing stands out in ", table.rows(), " rows.\n")
                         : cat("Worth a look: ", said.size(), said.size() == 1 ? " finding" : " findings",
                               " in ", table.rows(), " rows.\n");
  for (const std::string& finding : said) text += cat("  ", finding, "\n");
  for (const ColumnBias& column : found.columns) text += cat("\n", groups_text(column, options, terminal));
  if (run.options.columns.empty() && !is_stream(run.file)) text += cat("\n", proposal(run, options.columns));
  run.results.write(text);
  std::vector<std::string> next = {"data", "leak", run.file};
  if (!options.label.empty()) next.insert(next.end(), {"--label", options.label});
  for (const std::string& word : run.table.words()) next.push_back(word);
  for (const std::string& word : run.missing.words()) next.push_back(word);
  run.results.suggest(next);
}

constexpr const char* kBiasExamples =
    R"(Prints the share of each group and its rate of positive labels and, with
--reference, compares shares with the population. Reports groups whose share
differs from that in the population by 0.02 or more, and by more than chance;
columns with more missing cells in one group than in another; proxies (columns
that predict the group: area under the ROC curve of 0.7 or more on held-out
rows); and combinations of two groups with fewer than --min-group rows.

Examples:
  espalier data bias people.csv --label income --positive '>50K'
  espalier data bias people.csv --sensitive sex,race --reference census.csv
      Compare with census.csv, which has lines such as sex,Female,0.51 below the
      header column,group,share.

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_data_bias(CLI::App& data) {
  auto run = std::make_shared<BiasRun>();
  CLI::App* verb =
      data.add_subcommand("bias", "Measure shares of groups, missing cells by group, and proxies of groups");
  verb->add_option("file", run->file, "Table: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option_function<std::vector<std::string>>(
          "--sensitive",
          [run](const std::vector<std::string>& given) { run->options.columns = comma_separated(given); },
          "Sensitive columns, whose values are groups, comma-separated (default: guessed)")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  CLI::Option* positive = verb->add_option(
      "--positive", run->options.positive,
      "With --label: the positive label, whose rate is measured (default: that of a known pair, yes of "
      "yes/no, 1 of 1/0)");
  positive->option_text("VALUE");
  positive->needs(verb->add_option("--label", run->options.label, "Label column, or `last`")
                      ->option_text("COLUMN")
                      ->transform(a_column()));
  verb->add_option("--reference", run->reference,
                   "CSV of the population: with the header column,group,share, and one line per group")
      ->option_text("FILE");
  verb->add_option("--min-group", run->options.min_rows,
                   "Report combinations of two groups with fewer than N rows")
      ->check(number_from(int64_t{1}, int64_t{1} << 40))
      ->option_text("N [30]");
  add_table_reading(*verb, run->table);
  add_missing_with_schema(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kBiasExamples);
  verb->callback([run] { bias(*run); });
}

}  // namespace espalier::cli
