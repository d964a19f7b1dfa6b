#include "cli/check_run.h"

#include <algorithm>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "cli/device_flags.h"
#include "cli/slice_choice.h"
#include "data/column_profile.h"
#include "data/column_steps.h"
#include "data/label_dots.h"
#include "espalier/error.h"
#include "format/csv_writer.h"
#include "gate/schema_faults.h"
#include "tables/loaded_table_model.h"
#include "validate/schema_parts.h"

namespace espalier::cli {

std::chrono::year_month_day date_of(const std::string& text) {
  using namespace std::chrono;
  if (text.empty()) return floor<days>(system_clock::now());
  const std::optional<Moment> moment = read_moment(text, DateStyle::kIso);
  if (!moment) throw ValueError("check.today", cat("--today takes a date as 2031-12-31, got \"", text, "\""));
  return sys_days{days{moment->days}};
}

ScoredTable rows_of(const CheckRun& run, const std::string& scores, const std::optional<Expression>& where) {
  const auto gates = [&](const std::string& label) {
    return run.read_gates ? run.read_gates->positive_of(label) : std::string();
  };
  if (!scores.empty()) {
    ScoredColumns flags = run.scored;
    flags.gates = gates(flags.label);
    return read_scores(scores, run.table, flags, with_domains(run.scored.missing.all(), run.of_schema.schema),
                       run.results, where);
  }
  return score_table(run.model, run.data, run.table,
                     {.strip_label_dots = run.strip_label_dots,
                      .query = run.scored.query,
                      .all_rows = run.all_rows,
                      .where = where,
                      .favourable = run.of_schema.favourable,
                      .positive = run.scored.positive,
                      .gates = gates},
                     run.results);
}

Assessment assessment_of(const CheckRun& run, const SliceFlags& slicing, const ScoredTable& rows,
                         double level) {
  return slicing.assess(rows, rows.missing,
                        {.slices = {},
                         .level = level,
                         .histograms = !run.html.empty() || !run.verify.empty(),
                         .resampling = run.intervals.resampling()});
}

std::vector<std::string> check_again(const CheckRun& run) {
  std::vector<std::string> out = {"check"};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {flag, value});
  };
  if (run.scores.empty()) out.insert(out.end(), {run.model, run.data});
  add("--scores", run.scores);
  add("--baseline", run.baseline);
  add("--train", run.train);
  add("--schema", run.schema);
  add("--environment", run.environment);
  for (const std::string& word : run.scored.words()) out.push_back(word);
  if (run.where) add("--where", run.where->text());
  if (run.strip_label_dots) out.emplace_back("--strip-label-dots");
  if (run.all_rows) out.emplace_back("--all-rows");
  SliceFlags slicing = run.slicing;
  if (run.init) {  // the gates hold them
    slicing.slices.clear();
    slicing.crosses.clear();
    slicing.conditions.clear();
  }
  for (const std::string& word : slicing.words()) out.push_back(word);
  for (const std::string& word : run.intervals.words()) out.push_back(word);
  for (const std::string& word : run.table.words()) out.push_back(word);
  add_device_words(run.device, out);
  return out;
}

// Raises ValueError[check.train] for a training table without a column of the evaluated rows.
void check_columns(const CsvTable& out, const CheckRun& run, const ScoredTable& rows) {
  const std::vector<std::string>& evaluated = rows.table.names();
  std::string lacking;
  size_t lacks = 0;
  for (const std::string& name : out.names()) {
    if (name == rows.label || std::ranges::count(evaluated, name)) continue;
    lacking += cat(lacks++ ? ", " : "", name);
  }
  const size_t inputs = out.names().size() - static_cast<size_t>(std::ranges::count(out.names(), rows.label));
  if (lacks == inputs)
    throw ValueError(
        "check.train",
        cat(source_name(run.train), " has no column of the evaluated rows, but ", shortened(lacking)),
        out.numbered() ? "--names says what columns are called where no line does" : "");
  if (lacks > 0)
    run.results.warn({cat(source_name(run.train), ": ", counted(lacks, "column"), lacks == 1 ? " is" : " are",
                          " not in the evaluated rows, and not compared: ", shortened(lacking))});
}

// The table that the model was trained on, whose columns have the names of the evaluated ones, and those that
// the model reads and does not.
CsvTable train_table(const CheckRun& run, const ScoredTable& rows, DataFaultOptions& options) {
  if (!run.scores.empty())
    return run.table.beside(rows.table.numbers().point).read(run.train, rows.table.names(), run.results);
  const LoadedTableModel model = LoadedTableModel::load(run.model);
  CsvTable out = model.read(run.table, run.train, run.results);
  options.steps = steps_of(model.columns);
  options.unread.insert(out.names().begin(), out.names().end());
  for (const std::string& name : model.columns.columns_read()) {
    options.unread.erase(name);
    options.read.insert(name);
  }
  return out;
}

std::optional<Tables> tables_of(const CheckRun& run, const ScoredTable& rows) {
  if (run.train.empty()) return std::nullopt;
  if (run.train == run.data || run.train == run.scores)
    throw ValueError("check.train", cat("--train names the evaluated rows: ", run.train),
                     "name the table that the model was trained on");
  Tables out;
  out.train = train_table(run, rows, out.options);
  check_columns(out.train, run, rows);
  out.now = parse_csv(csv_text(rows.table, rows.rows, all_columns(rows.table)),
                      {.delimiter = ',',
                       .header = CsvHeader::kYes,
                       .decimal = rows.table.numbers().told ? rows.table.numbers().point : '\0',
                       .decimal_in_doubt = rows.table.numbers().point});
  if (run.strip_label_dots) {
    out.train = without_label_dots(out.train, rows.label);
    out.now = without_label_dots(out.now, rows.label);
  }
  if (std::ranges::count(out.train.names(), rows.label)) out.options.label = rows.label;
  out.options.k = run.rare;
  out.options.ignored = {name_alone(run.scored.score), run.scored.weight, run.scored.query};
  out.options.missing = rows.missing;
  const std::vector<std::string>& sensitive = run.of_schema.sensitive;
  out.options.groups = sensitive.empty() ? sensitive_columns(out.train) : sensitive;
  if (!run.schema.empty()) {
    out.options.schema = run.of_schema.schema;
    if (!run.environment.empty()) out.options.environment = run.environment;
  }
  out.data = ask_data(out.train, &out.now, out.options);
  // What the training table allows, for the lines of a page.
  if (run.schema.empty()) out.options.schema = infer_train_schema(out.train, out.options);
  return out;
}

}  // namespace espalier::cli
