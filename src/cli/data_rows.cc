// espalier data head and data rows: a table for a person who wants to look.
#include "cli/data_rows.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "cli/missing_flag.h"
#include "cli/table_flags.h"
#include "cli/where.h"
#include "data/column_profile.h"
#include "format/csv_writer.h"
#include "format/expression_node.h"
#include "report/table.h"
#include "tables/kept_rows.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kShown = 20, kHead = 10;

struct RowsRun {
  const char* verb;
  std::string file;
  std::optional<int64_t> limit = {};
  std::optional<Expression> where = {};
  std::vector<std::string> columns = {};
  TableReading table = {};
  MissingChoice missing = {};
  Results results = {};
};

struct Found {
  CsvTable table;
  std::vector<int64_t> rows, columns;
  int64_t all = 0;  // rows without a limit
  std::optional<KeptRows> kept = {};
};

Found find(const RowsRun& run) {
  Found out;
  out.table = run.table.read(run.file, {}, run.results);
  run.table.check_parted(out.table, run.file);
  for (const std::string& name : run.columns) out.columns.push_back(out.table.column(name));
  if (run.columns.empty()) out.columns = all_columns(out.table);
  out.rows = all_rows(out.table);
  if (run.where) out.kept = keep_rows(*run.where, out.table, out.rows, run.missing.read());
  out.all = std::ssize(out.rows);
  const bool whole = run.results.out != "-" && !run.limit;
  if (!whole) out.rows.resize(static_cast<size_t>(std::min(out.all, run.limit.value_or(kShown))));
  return out;
}

Json json(const RowsRun& run, const Found& found) {
  Json out = {{"file", run.file}, {"of", found.all}};
  if (found.kept) out["where"] = json_of(*found.kept);
  out["rows"] = Json::array();
  for (const int64_t row : found.rows) {
    Json cells = Json::object();
    for (const int64_t column : found.columns)
      cells[found.table.names()[static_cast<size_t>(column)]] = found.table.cell(row, column);
    out["rows"].push_back({{"line", found.table.line(row)}, {"cells", cells}});
  }
  return out;
}

// As many columns as fit beside each other, at least one; all of those that were asked for.
std::string shown(const RowsRun& run, const Found& found, const Terminal& terminal) {
  constexpr int kWidest = 32, kLineColumn = 8, kBetween = 2;
  int left = terminal.columns - kLineColumn;
  std::vector<std::string> header = {"line"}, hidden;
  std::vector<std::vector<TableCell>> lines;
  for (const int64_t row : found.rows) lines.push_back({found.table.line(row)});
  for (const int64_t column : found.columns) {
    const std::string name = printable(found.table.names()[static_cast<size_t>(column)]);
    int width = display_width(name);
    std::vector<std::string> cells;
    for (const int64_t row : found.rows) {
      cells.push_back(fit_width(printable(found.table.cell(row, column)), kWidest));
      width = std::max(width, display_width(cells.back()));
    }
    left -= width + kBetween;
    if (run.columns.empty() && header.size() > 1 && (left < 0 || !hidden.empty())) {
      hidden.push_back(name);
      continue;
    }
    header.push_back(name);
    for (size_t i = 0; i < cells.size(); ++i) lines[i].emplace_back(cells[i]);
  }
  Table table(header);
  for (std::vector<TableCell>& line : lines) table.row(std::move(line));
  std::string out = table.text(terminal);
  std::string names;
  for (const std::string& name : hidden) names += cat(names.empty() ? "" : ", ", name);
  if (!hidden.empty())
    out += cat(fit_width(cat(counted(hidden.size(), "more column"), ": ", names), terminal.columns), "\n");
  return out;
}

std::string text(const RowsRun& run, const Found& found, const Terminal& terminal) {
  std::string out = found.kept ? text_of(*found.kept) : "";
  out += shown(run, found, terminal);
  if (std::ssize(found.rows) < found.all)
    out += cat("the first ", found.rows.size(), " of ", found.all, " rows\n");
  return out;
}

// The rows that were found into a file; without a condition, what the columns hold.
void suggest_rows(const RowsRun& run) {
  std::vector<std::string> next = {"data", run.where ? "rows" : "stats", run.file};
  if (run.where) next.insert(next.end(), {"--where", run.where->text()});
  for (const std::string& word : run.table.words()) next.push_back(word);
  for (const std::string& word : run.missing.words_for(next)) next.push_back(word);
  if (run.where) next.insert(next.end(), {"--out", free_name("rows.csv")});
  run.results.suggest(next);
}

void look(const RowsRun& run) {
  run.results.keep({run.file});
  const Found found = find(run);
  if (run.results.json) return run.results.write_json(cat("data ", run.verb), json(run, found));
  if (run.results.out != "-") {
    check_csv_name(run.results.out);
    run.results.write(csv_text(found.table, found.rows, found.columns));
    Results().write(cat(found.kept ? text_of(*found.kept) : "", found.rows.size(), " rows written\n"));
    return run.results.suggest({"data", "head", run.results.out});
  }
  run.results.write(text(run, found, Terminal::of(STDOUT_FILENO)));
  suggest_rows(run);
}

CLI::App* add(CLI::App& data, const char* name, const char* about, std::shared_ptr<RowsRun> run) {
  CLI::App* verb = data.add_subcommand(name, about);
  verb->add_option("file", run->file, "Table: CSV, JSON Lines or TFRecord, also gzip (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->callback([run] { look(*run); });
  return verb;
}
void add_rest(CLI::App& verb, RowsRun& run) {
  verb.add_option_function<std::string>(
          "--columns", [&run](const std::string& text) { run.columns = comma_separated({text}); },
          "Columns to print, in this order, comma-separated")
      ->option_text("A,B,...");
  verb.option_defaults()->group("Table format");
  add_table_reading(verb, run.table);
  verb.option_defaults()->group("Output");
  run.results.add_json(verb);
  run.results.add_out(verb);
  verb.get_option("--out")->description("Write the rows to this CSV file (- for standard output)");
}

}  // namespace

void add_data_rows(CLI::App& data) {
  auto head = std::make_shared<RowsRun>(RowsRun{.verb = "head", .file = {}});
  head->limit = kHead;
  CLI::App* first = add(data, "head", "Print the first rows of a table", head);
  first->add_option("-n,--rows,rows", head->limit, "Number of rows")
      ->option_text(cat("N [", kHead, "]"))
      ->check(number_from(int64_t{1}, int64_t{1} << 40));
  add_rest(*first, *head);
  first->footer(
      "Examples:\n"
      "  espalier data head people.csv\n"
      "  espalier data head people.csv 3 --columns age,income\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");

  auto rows = std::make_shared<RowsRun>(RowsRun{.verb = "rows", .file = {}});
  CLI::App* some = add(data, "rows", "Print the rows of a table for which a condition is true", rows);
  add_where(*some, rows->where);
  some->add_option("--limit", rows->limit,
                   "Largest number of rows to print or write (default with --out: all rows)")
      ->option_text(cat("N [", kShown, "]"))
      ->check(number_from(int64_t{1}, int64_t{1} << 40));
  add_rest(*some, *rows);
  some->option_defaults()->group("Table format");
  add_missing_with_schema(*some, rows->missing);
  some->footer(
      "Examples:\n"
      "  espalier data rows people.csv --where 'age < 18'\n"
      "  espalier data rows people.csv --where 'city is missing' --out rows.csv\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
}

}  // namespace espalier::cli
