// espalier data split: training rows and test rows, in two files.

#include <memory>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/table_flags.h"
#include "data/column_profile.h"
#include "espalier/error.h"
#include "format/csv_writer.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"
#include "validate/split_rows.h"

namespace espalier::cli {
namespace {

struct SplitRun {
  std::string file, label, group, time, train = "train.csv", test = "test.csv";
  double fraction = 0.2;
  uint64_t seed = 0;
  bool replace = false;
  TableReading table;
  MissingChoice missing;
  Results results;
};

// Nobody knows which of these rows belong together.
std::string without_group_text(const SplitRun& run, const RowSplit& rows) {
  if (rows.without_group == 0) return "";
  const bool one = rows.without_group == 1;
  return cat(counted(rows.without_group, "row"), one ? " has" : " have", " no \"", run.group,
             one ? "\": it was" : "\": each was", " taken as a group of its own\n");
}

void split(const SplitRun& run) {
  keep_apart({{"--train", run.train}, {"--test", run.test}, {"--out", run.results.out}});
  for (const std::string& out : {run.train, run.test}) {
    Results{.out = out}.keep({run.file, run.missing.schema});
    check_csv_name(out);
    if (!run.replace && posix_env().exists(out))
      throw ValueError("split.exists", cat(out, " is there already"),
                       "--replace, or other names by --train and --test");
  }
  run.results.keep({run.file, run.missing.schema});
  const CsvTable table = run.table.read(run.file, {}, run.results);
  const MissingWords missing = run.missing.read();
  if (!run.time.empty()) warn_of_dates(run.results, table, run.time, missing);
  const RowSplit rows =
      !run.time.empty()    ? split_by_time(table, run.time, run.fraction, missing)
      : !run.group.empty() ? split_by_group(table, run.group, run.label, run.fraction, run.seed, missing)
      : !run.label.empty() ? split_by_class(table, run.label, run.fraction, run.seed, missing)
                           : split_at_random(table, run.fraction, run.seed);
  if (rows.train.empty() || rows.test.empty()) {
    throw ValueError("split.rows",
                     cat(source_name(run.file), ": ", counted(rows.train.size(), "training row"), " and ",
                         counted(rows.test.size(), "test row"), "; each side needs one"),
                     rows.train.empty()  ? "a smaller --fraction"
                     : run.group.empty() ? "a larger --fraction"
                                         : "a larger --fraction, where each group is larger than it");
  }
  const std::vector<int64_t> columns = all_columns(table);
  Results{.out = run.train}.write(csv_text(table, rows.train, columns, table.delimiter()));
  Results{.out = run.test}.write(csv_text(table, rows.test, columns, table.delimiter()));
  if (run.results.json) {
    nlohmann::ordered_json body = {{"file", run.file},
                                   {"by", rows.by},
                                   {"seed", run.seed},
                                   {"train", {{"file", run.train}, {"rows", rows.train.size()}}},
                                   {"test", {{"file", run.test}, {"rows", rows.test.size()}}}};
    if (!run.group.empty()) body["without_group"] = rows.without_group;
    body["warnings"] = *run.results.warned;
    return run.results.write_json("data split", body);
  }
  run.results.write(cat(run.train, ": ", counted(rows.train.size(), "training row"), "\n", run.test, ": ",
                        counted(rows.test.size(), "test row"), "\nsplit ", rows.by, "\n",
                        without_group_text(run, rows)));
  std::vector<std::string> next = {"data", "leak", file_word(run.train), "--test", file_word(run.test)};
  if (!run.label.empty()) next.insert(next.end(), {"--label", run.label});
  if (!run.time.empty()) next.insert(next.end(), {"--time", run.time});
  for (const std::string& word : run.table.words()) next.push_back(word);
  for (const std::string& word : run.missing.words()) next.push_back(word);
  run.results.suggest(next);
}

constexpr const char* kSplitExamples =
    R"(Without --label, --by-group and --by-time, test rows are drawn at random.

Examples:
  espalier data split people.csv
      Write train.csv, and test.csv with a fifth of the rows.
  espalier data split people.csv --label income
      Draw test rows as the same share of each class.
  espalier data split visits.csv --by-group patient
      Keep all rows of a patient on one side of the split.
  espalier data split orders.csv --by-time placed --fraction 0.1
      Use the last tenth as test rows; rows of one time stay together.

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_data_split(CLI::App& data) {
  auto run = std::make_shared<SplitRun>();
  CLI::App* verb = data.add_subcommand(
      "split", "Split a table into training rows and test rows: at random, by class, by group or by time");
  verb->add_option("file", run->file, "Table: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("--label", run->label,
                   "Stratify by this label column: test rows are the same share of each class (nearly so "
                   "with --by-group)")
      ->option_text("COLUMN")
      ->transform(a_column());
  CLI::Option* group = verb->add_option(
      "--by-group", run->group, "Keep rows with the same value of this column on one side of the split");
  group->option_text("COLUMN")->transform(a_column());
  verb->add_option("--by-time", run->time,
                   "Use the last rows by this column of dates or numbers as test rows. If the file is sorted "
                   "by time, `train --split order` needs no split file. Not with --by-group")
      ->option_text("COLUMN")
      ->transform(a_column())
      ->excludes(group);
  verb->add_option("--fraction", run->fraction, "Share of rows that become test rows")
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0.2]");
  verb->add_option("--train", run->train, "File to write the training rows to")
      ->option_text("FILE [train.csv]")
      ->check(a_name());
  verb->add_option("--test", run->test, "File to write the test rows to")
      ->option_text("FILE [test.csv]")
      ->check(a_name());
  verb->add_flag("--replace", run->replace, "Replace existing files");
  add_seed(*verb, run->seed)->description("Random seed that draws the test rows");
  add_table_reading(*verb, run->table);
  add_missing_with_schema(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kSplitExamples);
  verb->callback([run] { split(*run); });
}

}  // namespace espalier::cli
