// espalier data: what data is, and what it should be.
#include "cli/data_rows.h"
#include "cli/data_verbs.h"
#include "data/column_guess.h"
#include "validate/row_times.h"

namespace espalier::cli {

void MessageResults::add(CLI::App& verb) {
  CLI::Option* show_flag =
      verb.add_flag("--show", show, "Print the result as a table, also with --out (not with --json)");
  results.add_json(verb);
  verb.get_option("--json")->excludes(show_flag);
  results.add_out(verb);
  verb.get_option("--out")->description(
      "Write the result to this file: .pbtxt (text), .pb (binary) or .tfrecord; JSON with --json (default: "
      "print it as a table)");
}

void warn_of_dates(const Results& results, const CsvTable& table, const std::string& column,
                   const MissingWords& missing) {
  const ColumnProfile profile = profile_column(table, all_rows(table), table.column(column), missing);
  if (const std::string doubt = date_doubt(column, profile); !doubt.empty())
    results.warn({cat("column \"", column, "\": ", doubt)});
}

void warn_of_no_dates(const Results& results, const CsvTable& table, const std::string& column,
                      const MissingWords& missing, const char* newer) {
  const ColumnProfile profile = profile_column(table, all_rows(table), table.column(column), missing);
  const std::optional<TimeForm> form = time_form(column, profile);
  if (form && !form->dates)
    results.warn({cat("column \"", column, "\" holds no dates: it says which of ", newer,
                      " came before others, and nothing of other columns")});
}

void add_data(CLI::App& app) {
  CLI::App* data = app.add_subcommand(
      "data", "Inspect and validate data: rows, statistics, schemas, drift, leakage, bias");
  data->require_subcommand(1);
  add_data_check(*data);
  add_data_stats(*data);
  add_data_schema(*data);
  add_data_validate(*data);
  add_data_drift(*data);
  add_data_skew(*data);
  add_data_leak(*data);
  add_data_bias(*data);
  add_data_split(*data);
  add_data_rows(*data);
}

}  // namespace espalier::cli
