#include <cstdio>
#include <iostream>

#include "base/env.h"
#include "cli/csv_options.h"
#include "cli/data_tables.h"
#include "cli/data_verbs.h"
#include "cli/table_data.h"
#include "espalier/error.h"
#include "format/byte_source.h"
#include "validate/records.h"
#include "validate/statistics.h"

namespace espalier::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  TableFlags table;
  std::string missing, empty = "missing", weight, slice;
  MessageResults output;
};

// Standard input as a file, which can be read again; gone with this process.
class InputFiles {
 public:
  explicit InputFiles(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
      files.push_back(path == "-" ? standard_input() : TableFile{path, path});
  }
  ~InputFiles() {
    if (copy_) std::fclose(copy_);
  }
  InputFiles(const InputFiles&) = delete;
  InputFiles& operator=(const InputFiles&) = delete;

  std::vector<TableFile> files;

 private:
  TableFile standard_input() {
    if (copy_) throw ValueError("stats.files", "standard input is named twice");
    copy_ = std::tmpfile();
    if (!copy_) throw IoError("file.write", "cannot keep standard input in a file: no temporary file");
    char part[1 << 16];
    bool written = true;
    while (written && std::cin) {
      std::cin.read(part, sizeof part);
      const auto count = static_cast<size_t>(std::cin.gcount());
      written = std::fwrite(part, 1, count, copy_) == count;
    }
    if (!written || std::fflush(copy_) != 0)
      throw IoError("file.write", "cannot keep standard input in a file: no room");
    return {cat("/proc/self/fd/", fileno(copy_)), "standard input"};
  }
  std::FILE* copy_ = nullptr;
};

// Text or bytes of statistics, where all other files are tables.
bool holds_statistics(const TableFile& file) {
  for (const char* ending : {".pb", ".pbtxt", ".tfrecord", ".pb.gz", ".pbtxt.gz", ".tfrecord.gz"}) {
    if (file.path.ends_with(ending)) return true;
  }
  std::string first(1 << 12, '\0');
  first.resize(open_text(file.path)->read(first.data(), first.size()));
  if (is_records(first)) return true;
  // The first field of a message; its length and the fields in it are no text.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && !std::isspace(c); };
  if (first.starts_with('\n') && std::any_of(first.begin(), first.end(), is_control)) return true;
  std::string_view text = first;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with('#')) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  if (!text.starts_with("datasets")) return false;
  text.remove_prefix(8);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n:"), text.size()));
  return text.starts_with('{') || text.starts_with('<');
}

tfmd::DatasetFeatureStatisticsList read_statistics(const TableFile& file) {
  tfmd::DatasetFeatureStatisticsList list;
  if (file.path == file.name)
    read_metadata(file.path, list);
  else
    parse_metadata(posix_env().read_file(file.path), list);
  if (list.datasets_size() == 0)
    throw FormatError("data.stats", cat(source_name(file.name), " holds statistics of no data"));
  return list;
}

void check_alone(const Options& options) {
  if (options.files.size() > 1)
    throw ValueError("stats.files", "files of statistics are shown one at a time; give the tables together");
  const bool flags = !options.table.words().empty() || !options.missing.empty() ||
                     options.empty != "missing" || !options.weight.empty() || !options.slice.empty();
  if (flags)
    throw ValueError("stats.flags",
                     cat(source_name(options.files[0]),
                         " holds statistics, and flags were given that say how tables are read"));
}

std::vector<std::string> missing_words(const Options& options) {
  return options.missing.empty() ? std::vector<std::string>() : comma_separated({options.missing});
}

tfmd::DatasetFeatureStatisticsList measure(const Options& options, const std::vector<TableFile>& files) {
  StatisticsOptions how{.csv = csv_options(options.table),
                        .empty = {missing_words(options), options.empty == "present"},
                        .weight = options.weight,
                        .slice = options.slice};
  const TableStatistics statistics = statistics_of_csv(files, how);
  for (const std::string& note : statistics.notes()) std::fputs(cat("note: ", note, "\n").c_str(), stderr);
  std::string names;
  for (const TableFile& file : files) names += cat(names.empty() ? "" : ", ", source_name(file.name));
  std::fputs(cat(statistics.rows(), " rows read of ", names, "\n").c_str(), stderr);
  return statistics.list();
}

// The command that writes what was shown.
std::vector<std::string> command_of(const Options& options, const char* out) {
  std::vector<std::string> next{"data", "stats"};
  const auto add = [&](const std::vector<std::string>& words) {
    next.insert(next.end(), words.begin(), words.end());
  };
  add(options.files);
  add(options.table.words());
  if (!options.missing.empty()) add({"--missing", options.missing});
  if (options.empty != "missing") add({"--empty-cell", options.empty});
  if (!options.weight.empty()) add({"--weight", options.weight});
  if (!options.slice.empty()) add({"--slice", options.slice});
  add({"--out", out});
  return next;
}

void run(const Options& options) {
  const Results& results = options.output.results;
  results.keep(options.files);
  const InputFiles input(options.files);
  const bool holds = holds_statistics(input.files[0]);
  if (holds) {
    check_alone(options);
    const auto list = read_statistics(input.files[0]);
    options.output.write("stats", {{"file", options.files[0]}}, list, statistics_tables);
  } else {
    const auto list = measure(options, input.files);
    options.output.write("stats", {{"files", options.files}, {"rows", list.datasets(0).num_examples()}}, list,
                         statistics_tables);
  }
  results.suggest(command_of(options, holds ? "stats.pbtxt" : "stats.pb"));
}

}  // namespace

void add_data_stats(CLI::App& data) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = data.add_subcommand(
      "stats", "Statistics of tables: counts, missing, means, quantiles, histograms, top values");
  verb->add_option("file", options->files,
                   "CSV or TSV with equal columns, gzip too; or statistics of tensorflow_metadata; - reads "
                   "standard input")
      ->required();
  options->table.add(*verb);
  verb->add_option("--missing", options->missing, "Words that mean that a cell is missing")
      ->option_text("WORD,...");
  verb->add_option("--empty-cell", options->empty,
                   "Whether a cell without text is missing, or present without value")
      ->check(CLI::IsMember({"missing", "present"}))
      ->option_text("missing|present [missing]");
  verb->add_option("--weight", options->weight, "Column that says how much a row counts")
      ->option_text("COLUMN");
  verb->add_option("--slice", options->slice, "Column; the rows of each of its values have statistics too")
      ->option_text("COLUMN");
  options->output.add(*verb);
  add_threads(*verb);
  verb->callback([options] { run(*options); });
}

}  // namespace espalier::cli
