// espalier data: what data is, and what it should be.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/common.h"
#include "cli/data_tables.h"
#include "espalier/error.h"
#include "validate/message_json.h"
#include "validate/metadata_files.h"

namespace espalier::cli {
namespace {

struct Options {
  std::string file;
  Results results;
  bool show = false;
};

template <class Message>
Message read(const std::string& file) {
  Message message;
  if (file == "-")
    parse_metadata(read_text(file), message);
  else
    read_metadata(file, message);
  return message;
}

// As JSON, converted into the file of --out, or as a table.
template <class Message>
void write(const char* what, const Options& options, const Message& message,
           std::string (*table)(const Message&, const Terminal&)) {
  const Results& results = options.results;
  results.keep({options.file});
  if (results.json)
    return results.write_json(cat("data ", what), {{"file", options.file}, {what, json_of_message(message)}});
  if (results.out != "-") results.write(metadata_bytes(message, metadata_form(results.out)));
  if (results.out != "-" && !options.show) return;
  Results().write(table(message, Terminal::of(STDOUT_FILENO)));
  results.suggest({"data", what, options.file, "--out", cat(what, ".pbtxt")});
}

void schema(const Options& options) {
  const auto schema = read<tfmd::Schema>(options.file);
  if (schema.feature_size() == 0 && schema.sparse_feature_size() == 0)
    throw FormatError("data.schema", cat(source_name(options.file), " holds a schema without features"));
  write("schema", options, schema, schema_table);
}

void stats(const Options& options) {
  const auto list = read<tfmd::DatasetFeatureStatisticsList>(options.file);
  if (list.datasets_size() == 0)
    throw FormatError("data.stats", cat(source_name(options.file), " holds statistics of no data"));
  write("stats", options, list, statistics_tables);
}

void add(CLI::App& data, const char* name, const char* about, const char* file, void (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = data.add_subcommand(name, about);
  verb->add_option("file", options->file, file)->required();
  CLI::Option* show = verb->add_flag("--show", options->show, "Print it as a table, beside --out too");
  options->results.add_json(*verb);
  verb->get_option("--json")->excludes(show);
  options->results.add_out(*verb);
  verb->get_option("--out")->description(
      "File to write it to: .pbtxt is text, .pb binary, .tfrecord a TFRecord; JSON with --json");
  verb->callback([options, run] { run(*options); });
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* data = app.add_subcommand("data", "Show and convert schemas and statistics of data");
  data->require_subcommand(1);
  add(*data, "schema", "A schema of tensorflow_metadata: features, types, presence, domains",
      "A .pbtxt, .pb or TFRecord, gzip too; - reads standard input", schema);
  add(*data, "stats", "Statistics of tensorflow_metadata: counts, means, ranges, top values",
      "A .pb, .pbtxt or TFRecord, gzip too; - reads standard input", stats);
}

}  // namespace espalier::cli
