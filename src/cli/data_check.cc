// espalier data check: all that is asked of data, in one answer.

#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/slice_choice.h"
#include "cli/table_data.h"
#include "data/label_dots.h"
#include "gate/data_faults.h"
#include "report/table.h"
#include "validate/schema_parts.h"

namespace espalier::cli {
namespace {

struct FaultsRun {
  std::string train, now, schema, environment;
  DataFaultOptions options;
  bool strip_label_dots = false;
  TableFlags table;
  MissingFlag missing;
  Results results;
};

nlohmann::ordered_json faults_json(const std::vector<DataFault>& faults) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const DataFault& fault : faults) {
    out.push_back(
        {{"of", kFaultsOf[static_cast<size_t>(fault.of)]},
         {"severity", fault.warning ? "warning" : "note"},
         {"column", fault.column.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(fault.column)},
         {"text", fault.text}});
  }
  return out;
}

std::string first_undecided(const NotJudged& first) {
  return cat("Undecided: ", kFaultsOf[static_cast<size_t>(first.of)], " of ",
             first.what.column.empty() ? "the data" : shortened(first.what.column), ": ", first.what.why,
             ".\n");
}

// Of a table alone, or beside newer rows. Where no column says which group a row is of, nothing was asked.
std::string clean_text(const FaultsRun& run, const CsvTable& train, const DataAnswer& answer) {
  const bool grouped = std::ranges::none_of(answer.not_compared, [](const NotJudged& each) {
    return each.of == FaultOf::kGroups && each.what.column.empty() && !each.undecided;
  });
  const char* const groups = grouped ? ", cells missing more often in one group" : "";
  std::string out = cat("No fault: ", train.rows(), " rows, ", train.columns(), " columns");
  if (run.now.empty())
    return cat(out, ".\nAsked: leaks, repeated rows", groups,
               ". Newer rows beside it are held against it.\n");
  return cat(out, ", and ", source_name(run.now),
             ".\nAsked: columns, types and values of the new rows, leaks, ranges, drift", groups, ".\n");
}

std::string faults_text(const FaultsRun& run, const CsvTable& train, const DataAnswer& answer,
                        int64_t warnings, const Terminal& terminal) {
  const std::vector<DataFault>& faults = answer.faults;
  const NotJudged* undecided = answer.undecided();
  std::string out = warnings > 0 ? cat(warnings == 1 ? "Fault: " : "Faults: ", faults[0].text,
                                       warnings > 1 ? cat("; and ", warnings - 1, " more") : "", ".\n")
                    : undecided  ? first_undecided(*undecided)
                                 : clean_text(run, train, answer);
  if (!faults.empty()) {
    Table shown({"of", "finding"});
    for (const DataFault& fault : faults) {
      shown.row(
          {cat(kFaultsOf[static_cast<size_t>(fault.of)], fault.warning ? "" : " (a note)"), fault.text});
    }
    out += cat("\n", shown.text(terminal));
  }
  const std::string rest = text(answer.listed());
  return rest.empty() ? out : cat(out, faults.empty() ? "" : "\n", rest);
}

// Where the first fault is looked at more closely.
std::vector<std::string> next_of_faults(const FaultsRun& run, const DataAnswer& answer,
                                        const std::string& label) {
  const std::vector<DataFault>& faults = answer.faults;
  std::vector<std::string> out = {"data"};
  const auto with_label = [&] {
    if (!label.empty()) out.insert(out.end(), {"--label", label});
    if (run.strip_label_dots) out.emplace_back("--strip-label-dots");
  };
  const bool clean = faults.empty() || !faults[0].warning;
  const bool rule = clean && answer.undecided() && answer.undecided()->of_rule;
  if (clean && !rule) {
    out = label.empty() ? std::vector<std::string>{"data", "stats", run.train}
                        : std::vector<std::string>{"train", "--data", run.train};
    if (!label.empty()) with_label();
  } else if (!rule && faults[0].of == FaultOf::kLeak) {
    out.insert(out.end(), {"leak", run.train});
    if (!run.now.empty()) out.insert(out.end(), {"--test", run.now});
    if (!run.options.time.empty()) out.insert(out.end(), {"--time", run.options.time});
    with_label();
  } else if (!rule && faults[0].of == FaultOf::kGroups) {
    out.insert(out.end(), {"bias", run.train});
  } else if (rule || faults[0].of == FaultOf::kSchema) {
    if (run.schema.empty())
      out.insert(out.end(), {"schema", run.train, "--show"});
    else
      out.insert(out.end(), {"validate", run.now, "--schema", run.schema});
    if (!run.environment.empty()) out.insert(out.end(), {"--environment", run.environment});
  } else {
    out.insert(out.end(), {"drift", run.train, run.now});
  }
  MissingFlag missing = run.missing;
  missing.schema = run.schema;  // a verb that hears its words
  for (const std::string& word : missing.words_for(out)) out.push_back(word);
  for (const std::string& word : run.table.words()) out.push_back(word);
  return out;
}

CsvTable read_rows(const FaultsRun& run, const std::string& path, const std::vector<std::string>& expected) {
  CsvTable out = run.table.read(path, expected);
  if (out.rows() == 0)
    throw ValueError("data.rows", cat(source_name(path), ": names of columns, and no row"));
  return out;
}

void check_tables(const FaultsRun& run) {
  run.results.keep({run.train, run.now, run.schema});
  CsvTable train = read_rows(run, run.train, {});
  DataFaultOptions options = run.options;
  options.missing = run.missing.all();
  if (!run.schema.empty()) {
    options.schema = read_message<tfmd::Schema>(run.schema);
    options.missing = with_domains(options.missing, *options.schema);
  }
  if (!run.environment.empty()) options.environment = run.environment;
  if (options.label == "last") options.label = train.names().back();
  if (options.groups.empty()) options.groups = sensitive_columns(train);
  std::optional<CsvTable> now;
  if (!run.now.empty()) now = read_rows(run, run.now, train.names());
  if (run.strip_label_dots) {
    train = without_label_dots(train, options.label);
    if (now) now = without_label_dots(*now, options.label);
  }
  if (!options.time.empty()) warn_of_dates(run.results, train, options.time, options.missing);
  if (!options.time.empty() && !now)
    warn_of_no_dates(run.results, train, options.time, options.missing, "newer rows");
  const DataAnswer answer = ask_data(train, now ? &*now : nullptr, options);
  const std::vector<DataFault>& faults = answer.faults;
  const int64_t warnings = std::ranges::count_if(faults, &DataFault::warning);
  if (run.results.json) {
    run.results.write_json(
        "data check", {{"train", run.train},
                       {"rows", train.rows()},
                       {"now", run.now.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(run.now)},
                       {"sensitive", options.groups},
                       {"faults", warnings},
                       {"findings", faults_json(faults)},
                       {"undecided", answer.undecided() != nullptr},
                       {"not_compared", json_of(answer.listed())},
                       {"warnings", *run.results.warned}});
  } else {
    const Terminal terminal = run.results.terminal();
    run.results.write(faults_text(run, train, answer, warnings, terminal));
    run.results.suggest(next_of_faults(run, answer, run.options.label));
  }
  if (warnings > 0) throw Exit{1};
  if (answer.undecided()) throw Exit{3};
}

constexpr const char* kDataCheckExamples =
    R"(Asked, in this order: do the new rows have the columns, the forms of cells and
the values of the training rows, or of a schema; does anything leak; do numbers
lie beyond all training rows, or dates farther off than these are apart; have the
columns drifted (of 20 rows or more); are cells missing more often in one group.
No cell is shown but the names of values that drifted. Where nothing changed, one
of twenty tables raises an alarm. A schema that is given holds from the first row
on; without one a value, form or range that is new counts where chance does not
explain it.
Exit code 1 where a fault is found, 3 where there is none and too few rows leave a
question open, or a rule of the schema could be asked of none; columns that are
not compared are listed with the reason.

Examples:
  espalier data check train.csv --label income
  espalier data check january.csv february.csv --label late --time placed
  espalier data check train.csv new.csv --schema schema.pbtxt --environment SERVING)";

}  // namespace

void add_data_check(CLI::App& data) {
  auto run = std::make_shared<FaultsRun>();
  CLI::App* verb = data.add_subcommand("check", "All of it at once: faults of a table, and of newer rows");
  verb->add_option("train", run->train, "Training rows: CSV, JSON Lines or TFRecord; - is standard input")
      ->required();
  verb->add_option("now", run->now, "The rows that it meets");
  verb->add_option("--label", run->options.label, "The column to learn, or `last`")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option("--time", run->options.time, "The column with the time of a row's prediction")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option_function<std::vector<std::string>>(
          "--sensitive",
          [run](const std::vector<std::string>& given) { run->options.groups = comma_separated(given); },
          "Columns whose values are groups; those that look so are taken where none is named")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  verb->add_option(
          "--schema", run->schema,
          "What each of the new rows should be, with its comparators and rules; where none is given, "
          "the training rows say what is usual")
      ->option_text("FILE")
      ->needs("now");
  verb->add_option("--environment", run->environment, "Where the new rows are met: one of the schema's")
      ->option_text("NAME")
      ->needs("--schema");
  verb->add_flag("--strip-label-dots", run->strip_label_dots, "Labels \"x.\" are \"x\"")->needs("--label");
  run->table.add(*verb);
  run->missing.add(*verb);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kDataCheckExamples);
  verb->callback([run] { check_tables(*run); });
}

}  // namespace espalier::cli
