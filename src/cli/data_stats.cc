#include "cli/data_tables.h"
#include "cli/data_verbs.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

struct Options {
  std::string file;
  MessageResults output;
};

void run(const Options& options) {
  options.output.results.keep({options.file});
  const auto list = read_message<tfmd::DatasetFeatureStatisticsList>(options.file);
  if (list.datasets_size() == 0)
    throw FormatError("data.stats", cat(source_name(options.file), " holds statistics of no data"));
  options.output.write("stats", {{"file", options.file}}, list, statistics_tables);
  options.output.results.suggest({"data", "schema", options.file, "--out", "schema.pbtxt"});
}

}  // namespace

void add_data_stats(CLI::App& data) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      data.add_subcommand("stats", "Statistics of tensorflow_metadata: counts, means, ranges, top values");
  verb->add_option("file", options->file, "A .pb, .pbtxt or TFRecord, gzip too; - reads standard input")
      ->required();
  options->output.add(*verb);
  verb->callback([options] { run(*options); });
}

}  // namespace espalier::cli
