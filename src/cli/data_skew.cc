// espalier data skew: whether two tables say the same of the same ids.

#include <memory>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/table_flags.h"
#include "report/table.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"
#include "validate/row_skew.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SkewRun {
  std::string first, second;
  double least = 0;
  SkewOptions options;
  TableReading table;
  MissingChoice missing;
  Results results;
};

std::string joined_lines(const std::vector<int64_t>& lines) {
  std::string out;
  for (const int64_t line : lines) out += cat(out.empty() ? "" : ", ", line);
  return out;
}

double share(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

bool matters(const SkewRun& run, const ColumnSkew& column, const RowSkew& found) {
  return column.skewed() > 0 && share(column.skewed(), found.pairs) >= run.least;
}

// "train.csv: 3 ids that serving.csv has not, as in lines 7, 9, 12", and so on.
std::string side_text(const SkewSide& side, const std::string& name, const std::string& other) {
  std::string out;
  const auto add = [&](int64_t count, const char* what, const std::string& which,
                       const std::vector<int64_t>& lines) {
    if (count == 0) return;
    out += cat(name, ": ", count, " ", what, count == 1 ? "" : "s", which, ", as in line",
               lines.size() == 1 ? " " : "s ", joined_lines(lines), "\n");
  };
  add(side.only, "id", cat(" that ", other, " has not"), side.only_lines);
  add(side.repeated, "id", " of several rows, not compared", side.repeated_lines);
  add(side.without_id, "row", " without an id", side.without_id_lines);
  std::string columns;
  for (const std::string& column : side.only_columns)
    columns += cat(columns.empty() ? "" : ", ", shortened(column));
  if (!columns.empty()) out += cat(name, ": columns that ", other, " has not: ", columns, "\n");
  return out;
}

std::string skew_text(const SkewRun& run, const RowSkew& found, int64_t skewed, const Terminal& terminal) {
  const std::string first = source_name(run.first), second = source_name(run.second);
  const std::string of = cat(found.pairs, found.pairs == 1 ? " row" : " rows", " that both have");
  std::string out;
  if (found.columns.empty()) {
    out = cat("Undecided: no column beside the id is in both tables, of ", of, ".\n");
  } else if (skewed == 0) {
    out = cat("No skew in ", of, ".\n");
  } else {
    const ColumnSkew& worst = found.columns[0];
    out = cat("Skew: ", shortened(worst.column), " is not the same in ", worst.skewed(), " of ", of, " (",
              fixed(share(worst.skewed(), found.pairs), 3), ")",
              skewed > 1 ? cat("; and ", counted(skewed - 1, "more column")) : "", ".\n");
  }
  out += side_text(found.first, first, second) + side_text(found.second, second, first);
  Table table({"column", "share", "differ", cat("only ", first), cat("only ", second), "first lines", ""});
  bool any = false;
  for (const ColumnSkew& each : found.columns) {
    if (each.skewed() == 0) continue;
    any = true;
    table.row({shortened(each.column), fixed(share(each.skewed(), found.pairs), 4), each.differ,
               each.only_first, each.only_second, joined_lines(each.lines),
               matters(run, each, found) ? "skewed" : ""});
  }
  return any ? cat(out, "\n", table.text(terminal)) : out;
}

Json skew_json(const SkewSide& side, const std::string& file) {
  return {{"file", file},
          {"rows", side.rows},
          {"without_id", side.without_id},
          {"without_id_lines", side.without_id_lines},
          {"repeated_ids", side.repeated},
          {"repeated_lines", side.repeated_lines},
          {"only_ids", side.only},
          {"only_lines", side.only_lines},
          {"only_columns", side.only_columns}};
}

Json skew_json(const SkewRun& run, const RowSkew& found, int64_t skewed) {
  Json out = {{"id", run.options.id},
              {"tolerance", run.options.tolerance},
              {"least_share", run.least},
              {"pairs", found.pairs},
              {"skewed_pairs", found.skewed},
              {"skewed_columns", skewed},
              {"undecided", found.columns.empty()},
              {"repeated_ids", found.repeated},
              {"first", skew_json(found.first, run.first)},
              {"second", skew_json(found.second, run.second)},
              {"columns", Json::array()}};
  for (const ColumnSkew& each : found.columns)
    out["columns"].push_back({{"column", each.column},
                              {"share", share(each.skewed(), found.pairs)},
                              {"differ", each.differ},
                              {"only_first", each.only_first},
                              {"only_second", each.only_second},
                              {"lines", each.lines},
                              {"skewed", matters(run, each, found)}});
  return out;
}

void skew(const SkewRun& run) {
  run.results.keep({run.first, run.second, run.missing.schema});
  const CsvTable first = run.table.read(run.first, {}, run.results);
  const CsvTable second =
      run.table.beside(first.numbers().point).read(run.second, first.names(), run.results);
  SkewOptions options = run.options;
  options.missing = run.missing.read();
  const RowSkew found = row_skew(first, second, options);
  if (found.pairs == 0)
    throw ValueError("skew.pairs", cat("no id is there once in ", source_name(run.first), " and once in ",
                                       source_name(run.second)));
  int64_t skewed = 0;
  for (const ColumnSkew& each : found.columns) skewed += matters(run, each, found);
  if (run.results.json) {
    run.results.write_json("data skew", skew_json(run, found, skewed));
  } else {
    const Terminal terminal = run.results.terminal();
    run.results.write(skew_text(run, found, skewed, terminal));
    std::vector<std::string> next = {"data", "drift", run.first, run.second};
    for (const std::string& word : run.table.words()) next.push_back(word);
    for (const std::string& word : run.missing.words()) next.push_back(word);
    run.results.suggest(next);
  }
  if (skewed > 0) throw Exit{1};
  if (found.columns.empty()) throw Exit{3};
}

constexpr const char* kAbout =
    R"(Rows are joined by --id; ids that several rows share are counted, not compared.
Two missing cells are equal, and so are two ways to write one number, "1" and
"1.0".

Example:
  espalier data skew train.csv served.csv --id customer,day --tolerance 1e-6

Exit codes: 0 no column differs, 1 a column differs, 2 usage error or bad input,
3 undecided: no column could be compared.)";

}  // namespace

void add_data_skew(CLI::App& data) {
  auto run = std::make_shared<SkewRun>();
  CLI::App* verb = data.add_subcommand("skew", "Compare two tables row by row, joined by id");
  verb->add_option("first", run->first,
                   "First table, e.g. training rows: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("second", run->second, "Second table, with the same ids, e.g. serving rows")
      ->option_text("FILE")
      ->required();
  verb->add_option_function<std::vector<std::string>>(
          "--id", [run](const std::vector<std::string>& given) { run->options.id = comma_separated(given); },
          "Columns that together identify a row, comma-separated")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...")
      ->required();
  verb->add_option_function<std::vector<std::string>>(
          "--ignore",
          [run](const std::vector<std::string>& given) { run->options.ignore = comma_separated(given); },
          "Columns not to compare, comma-separated")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  verb->add_option("--tolerance", run->options.tolerance,
                   "Largest difference between numbers that count as equal")
      ->check(number_from(0.0, 1e300))
      ->option_text("X [0]");
  verb->add_option(
          "--least", run->least,
          "Report a column as different if at least this share of its joined rows differs (0: any row)")
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0]");
  add_table_reading(*verb, run->table);
  add_missing_with_schema(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kAbout);
  verb->callback([run] { skew(*run); });
}

}  // namespace espalier::cli
