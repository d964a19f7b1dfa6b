#include <algorithm>

#include "base/listed_names.h"
#include "cli/data_input.h"
#include "cli/data_verbs.h"
#include "cli/rule_flags.h"
#include "espalier/error.h"
#include "gate/anomaly_tables.h"
#include "validate/statistics_view.h"

namespace espalier::cli {
namespace {

using Info = tfmd::AnomalyInfo;
using StatisticsList = tfmd::DatasetFeatureStatisticsList;

struct ValidateOptions {
  std::string file, schema, previous, serving, version, environment, fix, reason, rows;
  std::vector<std::string> features, warnings;
  StatisticsFlags how;
  Results results;
};

// Lists that the statistics of inputs are parts of.
struct Lists {
  std::optional<StatisticsList> statistics, previous, serving, version;
};

const tfmd::DatasetFeatureStatistics* read(const StatisticsFlags& how, const std::string& file,
                                           std::optional<StatisticsList>& into) {
  if (file.empty()) return nullptr;
  const InputFiles input({file});
  into = statistics_in(how, input.files[0]);
  try {
    return &all_examples(*into);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(source_name(file), ": ", error.message()), error.fix());
  }
}

ValidateInputs inputs_of(const ValidateOptions& options, Lists& lists) {
  ValidateInputs out;
  out.statistics = read(options.how, options.file, lists.statistics);
  out.previous = read(options.how, options.previous, lists.previous);
  out.serving = read(options.how, options.serving, lists.serving);
  out.previous_version = read(options.how, options.version, lists.version);
  if (!options.environment.empty()) out.environment = options.environment;
  for (const std::string& word : comma_separated(options.warnings))
    out.severities[anomaly_type(word)] = Info::WARNING;
  return out;
}

// The anomalies that are to be fixed: all, or those of --feature.
std::set<FeaturePath> chosen(const ValidateOptions& options, const Validation& validation, bool& dataset) {
  std::set<FeaturePath> out;
  std::vector<std::string> known;
  for (const FeatureAnomaly& anomaly : validation.features) known.push_back(path_text(anomaly.path));
  std::set<std::string> named;
  for (const std::string& word : options.features) {
    // As it is, or in quotes as messages show it.
    const std::string name = std::ranges::count(known, word) ? word : name_alone(word);
    if (std::ranges::find(known, name) == known.end())
      throw_unknown("data.feature", "feature with anomalies", name, known);
    named.insert(name);
  }
  for (const FeatureAnomaly& anomaly : validation.features) {
    const bool wanted = named.contains(path_text(anomaly.path));
    if (options.features.empty() || wanted) out.insert(anomaly.path);
  }
  dataset = options.features.empty() && validation.dataset.has_value();
  return out;
}

// Writes the new schema and says what changed; whether the data fits it.
bool apply_fix(const ValidateOptions& options, const ValidateInputs& inputs, const tfmd::Schema& schema,
               const Validation& validation, std::string& diff) {
  bool dataset = false;
  const std::set<FeaturePath> features = chosen(options, validation, dataset);
  const tfmd::Schema fixed = fixed_schema(schema, inputs, features, dataset, options.reason);
  diff =
      unified_diff(metadata_bytes(schema, MetadataForm::kText), metadata_bytes(fixed, MetadataForm::kText));
  Results{.out = options.fix}.write(metadata_bytes(fixed, metadata_form(options.fix)));
  return !validate(fixed, inputs).has_errors();
}

// Columns that a fix would take out of the schema for the sake of cells that can be named.
std::set<std::string> to_mend(const Validation& validation, const BadCells& cells) {
  std::set<std::string> out;
  for (const FeatureAnomaly& anomaly : validation.features) {
    const std::string name = path_text(anomaly.path);
    const bool given_up = std::ranges::any_of(anomaly.fix, [](const TextChange& change) {
      return std::ranges::any_of(
          change.added, [](const std::string& line) { return line.find("DEPRECATED") != line.npos; });
    });
    if (given_up && std::ranges::count(cells.findings, name, &RowFinding::column) > 0) out.insert(name);
  }
  return out;
}

std::string mend_text(const std::set<std::string>& columns) {
  if (columns.empty()) return "";
  const bool one = columns.size() == 1;
  return cat("The fix of ", one ? *columns.begin() : cat(columns.size(), " columns"), " takes ",
             one ? "it" : "them", " out of the schema: where cells are mistyped, mend them in the file.\n");
}

void suggest_schema(const ValidateOptions& options, const Validation& validation,
                    const std::set<std::string>& mended, const AskedRules& asked) {
  const bool fixable = validation.has_errors() && !validation.data_missing && options.fix.empty();
  std::vector<std::string> next = {"data", fixable ? "validate" : "schema"};
  std::vector<std::string> fixes;
  for (const FeatureAnomaly& anomaly : validation.features) {
    if (!mended.contains(path_text(anomaly.path))) fixes.push_back(path_text(anomaly.path));
  }
  if (fixable && !mended.empty() && fixes.empty() && !validation.dataset) {
    next = {"data", "stats", options.file};
    for (const std::string& word : options.how.words()) next.push_back(word);
    return options.results.suggest(next);
  }
  if (!fixable && asked.has_errors()) {
    next = {"data", "rows", asked.file};
    for (const std::string& word : options.how.table.words()) next.push_back(word);
    next.insert(next.end(), {"--where", asked.broken()});
    return options.results.suggest(next);
  }
  if (!fixable && asked.undecided()) {
    next = {"data", "stats", asked.file};
    for (const std::string& word :
         asked.file == options.file ? options.how.words() : options.how.table.words())
      next.push_back(word);
    return options.results.suggest(next);
  }
  if (!fixable) {
    next.push_back(options.fix.empty() ? options.schema : options.fix);
    return options.results.suggest(next);
  }
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) next.insert(next.end(), {flag, value});
  };
  next.push_back(options.file);
  const std::vector<std::string> how = options.how.words();
  next.insert(next.end(), how.begin(), how.end());
  add("--schema", options.schema);
  add("--environment", options.environment);
  add("--previous", options.previous);
  add("--serving", options.serving);
  add("--previous-version", options.version);
  for (const std::string& word : options.warnings) add("--warn", word);
  add("--rows", options.rows);
  add("--apply-fix", "schema-fixed.pbtxt");
  if (!mended.empty()) {
    for (const std::string& feature : fixes) add("--feature", feature);
  }
  options.results.suggest(next);
}

void run_validate(ValidateOptions options) {
  const std::vector<std::string> files = {options.file,    options.schema,  options.previous,
                                          options.serving, options.version, options.rows};
  options.results.keep(files);
  keep_apart({{"--apply-fix", options.fix}, {"--out", options.results.out}});
  if (std::ranges::count(files, "-") > 1)
    throw ValueError("data.input", "standard input can be one of the files, not more");
  if (!options.fix.empty()) Results{.out = options.fix}.keep(files);
  const auto schema = read_message<tfmd::Schema>(options.schema);
  options.how.schema = schema;
  Lists lists;
  const ValidateInputs inputs = inputs_of(options, lists);
  const Validation validation = validate(schema, inputs);
  bool good = !validation.has_errors();
  std::string diff;
  if (!options.fix.empty() && !validation.data_missing)
    good = apply_fix(options, inputs, schema, validation, diff);
  AskedTables tables(options.how);
  const AskedRules asked = ask_rules(options.rows.empty() ? options.file : options.rows, tables, schema);
  good = good && !asked.has_errors();
  std::set<std::string> columns;
  for (const FeatureAnomaly& anomaly : validation.features) columns.insert(path_text(anomaly.path));
  const BadCells cells = find_bad_cells(options.file, tables, schema, inputs.environment, columns);
  const std::set<std::string> mended = to_mend(validation, cells);
  std::string sentence = anomaly_sentence(validation, inputs);
  // What was not asked is said first, and is no pass.
  const bool more = asked.has_errors() || asked.undecided();
  if (constexpr std::string_view kNone = "No "; more && sentence.starts_with(kNone))
    sentence.insert(kNone.size(), "other ");
  sentence.insert(0, asked.sentence());
  if (options.results.json) {
    nlohmann::ordered_json body = {
        {"file", options.file}, {"schema", options.schema}, {"sentence", sentence}};
    body.update(anomaly_json(validation));
    body.update({{"undecided", asked.undecided()}, {"not_compared", json_of(asked.not_compared())}});
    if (!asked.file.empty()) body["rows"] = asked.json();
    if (!cells.findings.empty()) body["cells"] = cells.json();
    if (!options.fix.empty()) body.update({{"fixed", options.fix}, {"fits_fixed", good}});
    options.results.write_json("data validate", body);
  } else {
    if (options.results.out != "-")
      options.results.write(
          metadata_bytes(anomalies_of(validation, schema), metadata_form(options.results.out)));
    Results().write(cat(sentence, "\n", anomaly_table(validation, Terminal::of(STDOUT_FILENO)),
                        cells.text(Terminal::of(STDOUT_FILENO)), options.fix.empty() ? mend_text(mended) : "",
                        asked.text(Terminal::of(STDOUT_FILENO))));
    if (!options.fix.empty())
      Results().write(cat("\n", diff, options.fix,
                          !good               ? ": the data does not fit it yet\n"
                          : asked.undecided() ? ": the data fits it where it could be asked\n"
                                              : ": the data fits it\n"));
    suggest_schema(options, validation, mended, asked);
  }
  if (!good) throw Exit{1};
  if (asked.undecided()) throw Exit{3};
}

}  // namespace

void add_data_validate(CLI::App& data) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* verb = data.add_subcommand("validate", "Validate data against a schema");
  verb->add_option("file", options->file,
                   "Table, or statistics (.pb, .pbtxt or TFRecord), also gzip (- for standard input)")
      ->option_text("FILE")
      ->required();
  options->how.add(*verb);
  add_threads(*verb);
  verb->add_option("--schema", options->schema, "Schema that the data must fit")
      ->option_text("FILE")
      ->required();
  verb->add_option("--environment", options->environment,
                   "Environment of the data in the schema, e.g. SERVING")
      ->option_text("NAME");
  verb->add_option(
          "--previous", options->previous,
          "Data of an earlier period (the previous span) or its statistics, to test for drift by the "
          "comparators of the schema")
      ->option_text("FILE");
  verb->add_option("--serving", options->serving,
                   "Serving data or its statistics, to test for skew by the comparators of the schema")
      ->option_text("FILE");
  verb->add_option("--previous-version", options->version,
                   "Earlier version of the same period, or its statistics, to compare numbers of rows by the "
                   "comparators of the schema")
      ->option_text("FILE");
  verb->add_option("--warn", options->warnings,
                   "Anomaly types to report as warnings, e.g. SCHEMA_NEW_COLUMN; comma-separated")
      ->option_text("TYPE,...")
      ->allow_extra_args(false);
  CLI::Option* fix =
      verb->add_option("--apply-fix", options->fix, "Write a copy of the schema, changed to fit the data")
          ->option_text("FILE")
          ->check(a_name());
  verb->add_option("--feature", options->features,
                   "With --apply-fix: change only this feature (column); repeat for more features")
      ->option_text("NAME")
      ->allow_extra_args(false)
      ->needs(fix);
  verb->add_option("--reason", options->reason,
                   "With --apply-fix: reason of the change, kept in the annotations of changed features")
      ->option_text("TEXT")
      ->needs(fix);
  verb->add_option("--rows", options->rows,
                   "Table to check the rules of the schema on (default: the data, if it is a table)")
      ->option_text("FILE");
  options->results.add_json(*verb);
  options->results.add_out(*verb);
  verb->get_option("--out")->description(
      "Write anomalies to this file: .pbtxt, .pb or .tfrecord; JSON with --json");
  verb->footer(
      "Examples:\n"
      "  espalier data validate new.csv --schema schema.pbtxt --environment SERVING\n"
      "  espalier data validate new.csv --schema schema.pbtxt --apply-fix wider.pbtxt\n"
      "\n"
      "Exit codes: 0 the data fits the schema, 1 it does not, 2 usage error or bad\n"
      "input, 3 a rule of the schema could not be checked on any row.");
  verb->callback([options] { run_validate(*options); });
}

}  // namespace espalier::cli
