#include <algorithm>

#include "cli/data_input.h"
#include "cli/data_verbs.h"
#include "espalier/error.h"
#include "gate/data_tables.h"
#include "validate/sketch_files.h"

namespace espalier::cli {
namespace {

struct StatsOptions {
  std::vector<std::string> files;
  StatisticsFlags how;
  std::string sketch;
  MessageResults output;
};

tfmd::DatasetFeatureStatisticsList read_statistics(const TableFile& file) {
  const auto list = message_in<tfmd::DatasetFeatureStatisticsList>(file);
  if (list.datasets_size() == 0)
    throw FormatError("data.stats", cat(source_name(file.name), " holds statistics of no data"));
  return list;
}

// Of columns that --cross names and texts are in, which have no covariance.
std::vector<std::string> uncrossed(const StatsOptions& options, const tfmd::DatasetFeatureStatistics& all) {
  std::vector<std::string> out;
  for (const std::string& name : comma_separated({options.how.cross})) {
    const auto is = [&](const tfmd::FeatureNameStatistics& its) {
      return its.has_string_stats() && its.path().step_size() == 1 && its.path().step(0) == name;
    };
    if (std::ranges::any_of(all.features(), is))
      out.push_back(
          cat("--cross is of columns of numbers, and \"", name, "\" is one of texts: it is left out"));
  }
  return out;
}

// The command that writes what was shown.
std::vector<std::string> stats_command(const StatsOptions& options, const char* out) {
  std::vector<std::string> next{"data", "stats"};
  const auto add = [&](const std::vector<std::string>& words) {
    next.insert(next.end(), words.begin(), words.end());
  };
  add(options.files);
  add(options.how.words());
  add({"--out", out});
  return next;
}

void run_stats(const StatsOptions& options) {
  const Results& results = options.output.results;
  results.keep(options.files);
  keep_apart({{"--sketch", options.sketch}, {"--out", results.out}});
  if (!options.sketch.empty()) Results{.out = options.sketch}.keep(options.files);
  const InputFiles input(options.files);
  const bool holds = holds_messages(input.files[0]);
  if (holds) {
    if (options.files.size() > 1)
      throw ValueError("stats.files",
                       "statistics of several files cannot be made one: quantiles, unique and top values of "
                       "all of them are not in them",
                       "give the tables together, or keep a sketch of each with --sketch and merge these");
    if (!options.sketch.empty())
      throw ValueError("stats.files", "a sketch is written of tables and sketches, not of statistics");
    options.how.check_unused(input.files[0]);
    const auto list = read_statistics(input.files[0]);
    options.output.write("stats", {{"file", options.files[0]}}, list, statistics_tables);
  } else {
    const TableStatistics statistics = measure(options.how, input.files);
    if (!options.sketch.empty()) Results{.out = options.sketch}.write(sketch_file(statistics));
    const auto list = statistics.list();
    if (statistics.rows() == 0)
      results.warn(
          {cat(source_name(options.files[0]), options.files.size() > 1 ? " and the others have" : " has",
               " no rows: there is nothing to describe")});
    results.warn(uncrossed(options, list.datasets(0)));
    options.output.write("stats", {{"files", options.files}, {"rows", list.datasets(0).num_examples()}}, list,
                         statistics_tables);
  }
  results.suggest(results.out == "-" ? stats_command(options, holds ? "stats.pbtxt" : "stats.pb")
                                     : std::vector<std::string>{"data", "schema", results.out, "--out",
                                                                free_name("schema.pbtxt")});
}

}  // namespace

void add_data_stats(CLI::App& data) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* verb = data.add_subcommand(
      "stats",
      "Compute statistics of tables: counts, missing cells, means, quantiles, histograms, top values");
  verb->add_option("file", options->files,
                   "Tables with the same columns (CSV, JSON Lines, TFRecord of tf.Example, also gzip), "
                   "sketches to merge, or statistics of tensorflow_metadata (- for standard input)")
      ->option_text("FILE ...")
      ->required();
  options->how.add(*verb);
  verb->add_option("--slice", options->how.slice,
                   "Compute statistics also for the rows of each value of this column")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option("--cross", options->how.cross,
                   "Not slices: compute covariance and correlation of every pair of these numeric columns, "
                   "comma-separated (all = every numeric column)")
      ->option_text("COLUMN,...|all");
  verb->add_option("--sketch", options->sketch,
                   "Write a sketch to this file: all that later `data stats` needs to merge these statistics "
                   "with those of "
                   "other sketches")
      ->option_text("FILE")
      ->check(a_name());
  options->output.add(*verb);
  add_threads(*verb);
  verb->footer(
      "Cells are read strictly, as TensorFlow Data Validation reads them: one text\n"
      "among the numbers of a column makes it a column of texts, and words such as NA\n"
      "are texts unless --missing lists them. `train`, `predict` and `data head` read\n"
      "tables more leniently, and print what they read.\n"
      "\n"
      "Examples:\n"
      "  espalier data stats people.csv\n"
      "  espalier data stats people.csv --out stats.pb\n"
      "  espalier data stats monday.csv --sketch monday.sketch\n"
      "  espalier data stats monday.sketch tuesday.sketch\n"
      "      Merge the statistics of two tables.\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] { run_stats(*options); });
}

}  // namespace espalier::cli
