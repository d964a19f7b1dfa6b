#include <algorithm>
#include <cstdio>
#include <set>

#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "cli/data_input.h"
#include "cli/data_verbs.h"
#include "cli/rule_flags.h"
#include "espalier/columns.h"
#include "espalier/error.h"
#include "gate/data_tables.h"
#include "validate/infer.h"
#include "validate/schema_edit.h"
#include "validate/schema_parts.h"
#include "validate/text_diff.h"

namespace espalier::cli {
namespace {

struct SchemaOptions {
  std::string file;
  StatisticsFlags how;
  InferOptions infer;
  bool no_shapes = false;
  SchemaEdits edits;
  MessageResults output;
};

// A word that elsewhere means that a value is missing is one here, as TensorFlow Data Validation has it.
void note_words(const tfmd::Schema& schema) {
  std::string columns;
  std::vector<std::string> said;
  for (const tfmd::Feature& feature : schema.feature()) {
    const tfmd::StringDomain* const domain = string_domain_of(schema, feature);
    bool has = false;
    for (const std::string& word : ColumnOptions().missing) {
      if (!domain || !std::ranges::count(domain->value(), word)) continue;
      has = true;
      if (!std::ranges::count(said, word)) said.push_back(word);
    }
    if (has) columns += cat(columns.empty() ? "" : ", ", printable(feature.name()));
  }
  if (said.empty()) return;
  const std::string words = names_in_list(said);
  std::fputs(cat("note: ", words, said.size() == 1 ? " is a value" : " are values", " of ",
                 shortened(columns), said.size() == 1 ? "; to say that it means" : "; to say that they mean",
                 " that none is there: ", shell_words({"--missing", words}), "\n")
                 .c_str(),
             stderr);
}

// A schema, or, of statistics and tables, the one that they suggest.
tfmd::Schema schema_of(const SchemaOptions& options, const TableFile& file, bool& inferred) {
  if (!holds_messages(file)) {
    inferred = true;
    const TableStatistics measured = measure(options.how, {file});
    if (measured.rows() == 0)
      throw ValueError("data.rows", cat(source_name(options.file), ": no row, and so nothing to infer from"));
    const tfmd::Schema out = infer_schema(measured.list(), options.infer);
    if (options.how.missing.empty() && table_form(file.path) == TableForm::kCsv) note_words(out);
    return out;
  }
  options.how.check_unused(file);
  tfmd::Schema schema;
  try {
    schema = message_in<tfmd::Schema>(file);
  } catch (const FormatError& error) {
    if (error.rule() != "metadata.kind") throw;
    schema = infer_schema(message_in<tfmd::DatasetFeatureStatisticsList>(file), options.infer);
    inferred = true;
  }
  if (schema.feature_size() == 0 && schema.sparse_feature_size() == 0)
    throw FormatError("data.schema", cat(source_name(options.file), " holds a schema without features"));
  return schema;
}

// The command that writes what was shown.
std::vector<std::string> schema_command(const SchemaOptions& options, const std::string& out) {
  std::vector<std::string> next = {"data", "schema", options.file};
  const std::vector<std::string> how = options.how.words();
  next.insert(next.end(), how.begin(), how.end());
  const auto add = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) next.insert(next.end(), {flag, value});
  };
  add("--environment", options.edits.environments);
  add("--set", options.edits.set);
  add("--allow", options.edits.allow);
  add("--in", options.edits.in);
  add("--not-in", options.edits.not_in);
  add("--drop-rule", options.edits.dropped_rules);
  add("--rule", options.edits.rules);
  add("--warn-rule", options.edits.warning_rules);
  next.insert(next.end(), {"--out", out});
  return next;
}

void run_schema(SchemaOptions options) {
  const Results& results = options.output.results;
  results.keep({options.file});
  options.infer.shapes = !options.no_shapes;
  const InputFiles input({options.file});
  bool inferred = false;
  const tfmd::Schema before = schema_of(options, input.files[0], inferred);
  const tfmd::Schema schema = edited_schema(before, options.edits);
  // A table at hand says whether the dates of a rule are read.
  if (inferred) {
    AskedTables tables(options.how);
    check_rules_on(options.file, tables, schema);
  }
  options.output.write("schema", {{"file", options.file}}, schema, schema_table);
  if (!options.edits.empty() && !results.json) {
    const std::string diff = unified_diff(metadata_bytes(before, MetadataForm::kText),
                                          metadata_bytes(schema, MetadataForm::kText));
    Results().write(diff.empty() ? "nothing changed\n" : diff);
  }
  const bool written = inferred || !options.edits.empty();
  results.suggest(results.out != "-" ? std::vector<std::string>{"data", "schema", results.out, "--show"}
                  : written
                      ? schema_command(options, free_name(inferred ? "schema.pbtxt" : "schema-new.pbtxt"))
                      : std::vector<std::string>{"data", "validate", "--help"});
}

// One value for each flag: values may hold commas and blanks.
void add_words(CLI::App& verb, const char* flag, std::vector<std::string>& into, const char* name,
               const char* about) {
  verb.add_option(flag, into, about)->option_text(name)->allow_extra_args(false)->group("Edits");
}

}  // namespace

void add_data_schema(CLI::App& data) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* verb = data.add_subcommand("schema", "Show, infer or edit a schema of data");
  verb->add_option(
          "file", options->file,
          "Schema to show or edit, or statistics or a table to infer a schema from: .pbtxt, .pb, "
          "CSV, JSON Lines or TFRecord, also gzip (- for standard input). FILE itself is never changed")
      ->option_text("FILE")
      ->required();
  options->how.add(*verb);
  options->output.add(*verb);
  add_threads(*verb);
  verb->add_option("--most-values", options->infer.most_values,
                   "List the distinct texts of a column as its domain if there are at most N")
      ->option_text("N [100]")
      ->check(number_from(int64_t{0}, int64_t{1} << 31))
      ->group("Inference");
  verb->add_flag("--no-shapes", options->no_shapes, "Infer numbers of values of features, not shapes")
      ->group("Inference");
  SchemaEdits& edits = options->edits;
  add_words(
      *verb, "--set", edits.set, "FEATURE.FIELD=VALUE",
      "Set a field of a feature (column), e.g. company.min_domain_mass=0.9 or age.max=99; an empty value "
      "clears the field");
  add_words(*verb, "--allow", edits.allow, "FEATURE=VALUE", "Add a value to the domain of a feature");
  add_words(*verb, "--environment", edits.environments, "NAME",
            "Unlike elsewhere: add an environment to the schema");
  add_words(*verb, "--in", edits.in, "ENVIRONMENT:FEATURE", "Expect a feature in an environment");
  add_words(*verb, "--not-in", edits.not_in, "ENVIRONMENT:FEATURE",
            "Do not expect a feature in an environment");
  add_words(*verb, "--rule", edits.rules, "EXPRESSION",
            "Add a rule: a row for which it is false is an error, e.g. 'age >= 0'; see docs/expressions.md");
  add_words(*verb, "--warn-rule", edits.warning_rules, "EXPRESSION",
            "Add a rule: a row for which it is false is a warning");
  add_words(*verb, "--drop-rule", edits.dropped_rules, "EXPRESSION",
            "Remove a rule: the text of one that the schema has");
  verb->footer(
      "Edits may be repeated and combined; the changed lines are printed, and --out\n"
      "writes the new schema.\n"
      "\n"
      "Examples:\n"
      "  espalier data schema train.csv --out schema.pbtxt\n"
      "  espalier data schema schema.pbtxt --set age.max=99 --out new.pbtxt\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] { run_schema(*options); });
}

}  // namespace espalier::cli
