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
#include "cli/table_flags.h"
#include "data/label_dots.h"
#include "gate/data_faults.h"
#include "report/table.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"
#include "validate/schema_parts.h"

namespace espalier::cli {
namespace {

struct FaultsRun {
  std::string train, now, schema, environment;
  DataFaultOptions options;
  bool strip_label_dots = false;
  TableReading table;
  MissingChoice missing;
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
  const size_t notes = answer.faults.size();
  std::string out = cat("No fault", notes ? cat(", ", notes, notes > 1 ? " notes" : " note") : "", ": ",
                        train.rows(), " rows, ", train.columns(), " columns");
  if (run.now.empty())
    return cat(out, ".\nAsked: leaks, repeated rows", groups,
               ". Newer rows, as a second table, are compared with it.\n");
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
  MissingChoice missing = run.missing;
  missing.schema = run.schema;  // a verb that hears its words
  for (const std::string& word : missing.words_for(out)) out.push_back(word);
  for (const std::string& word : run.table.words()) out.push_back(word);
  return out;
}

CsvTable read_rows(const TableReading& reading, const std::string& path,
                   const std::vector<std::string>& expected, const Messages& messages) {
  CsvTable out = reading.read(path, expected, messages);
  if (out.rows() == 0)
    throw ValueError("data.rows", cat(source_name(path), ": names of columns, and no row"));
  return out;
}

void check_tables(const FaultsRun& run) {
  run.results.keep({run.train, run.now, run.schema});
  CsvTable train = read_rows(run.table, run.train, {}, run.results);
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
  if (!run.now.empty())
    now = read_rows(run.table.beside(train.numbers().point), run.now, train.names(), run.results);
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
    R"(Checks, in this order: whether newer rows have the columns, cell types and
values of the training rows (or of --schema); label leakage; numbers out of the
range of the training rows, and dates beyond that range by more than its length;
distribution drift of columns (20 rows or more); cells missing more often in one
group than in another. With --schema, one row that breaks the schema is a fault.
Without --schema, a new value, type or range is a fault only if chance does not
explain it. If nothing has changed, about one table in twenty raises a false
alarm. Columns that are not compared are listed with the reason. Cell values are
not printed, except those whose share has drifted.

Examples:
  espalier data check train.csv --label income
  espalier data check january.csv february.csv --label late --time placed
  espalier data check train.csv new.csv --schema schema.pbtxt \
      --environment SERVING

Exit codes: 0 no fault, 1 a fault was found, 2 usage error or bad input, 3 no
fault was found, but there are too few rows to decide, or a rule of the schema
could not be checked on any row.)";

}  // namespace

void add_data_check(CLI::App& data) {
  auto run = std::make_shared<FaultsRun>();
  CLI::App* verb = data.add_subcommand("check", "Check a table, and newer rows, for data faults");
  verb->add_option("train", run->train, "Training rows: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("now", run->now, "Newer rows (serving data)")->option_text("FILE");
  verb->add_option("--label", run->options.label, "Label column, or `last`")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option("--time", run->options.time,
                   "Column with the time of each row, at which its label would be predicted")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option_function<std::vector<std::string>>(
          "--sensitive",
          [run](const std::vector<std::string>& given) { run->options.groups = comma_separated(given); },
          "Sensitive columns, whose values are groups, comma-separated (default: guessed)")
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  verb->add_option("--schema", run->schema,
                   "Schema that newer rows must fit, with its comparators and rules (default: inferred from "
                   "the training rows). Words in its domains are values, not missing cells")
      ->option_text("FILE")
      ->needs("now");
  verb->add_option("--environment", run->environment,
                   "With --schema: environment of the newer rows, e.g. SERVING")
      ->option_text("NAME")
      ->needs("--schema");
  verb->add_flag("--strip-label-dots", run->strip_label_dots,
                 "With --label: strip a trailing dot from labels: read \"x.\" as \"x\"")
      ->needs("--label");
  add_table_reading(*verb, run->table);
  add_missing(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kDataCheckExamples);
  verb->callback([run] { check_tables(*run); });
}

}  // namespace espalier::cli
