// Statistics for verbs: those that lie in files, and those of tables.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/format.h"
#include "cli/common.h"
#include "espalier/error.h"
#include "tables/loaded_table_model.h"
#include "tables/table_reading.h"
#include "validate/metadata_files.h"
#include "validate/statistics.h"

namespace espalier::cli {

// Files as verbs name them, which are read several times. Each stream is kept in a file that is gone with
// this process.
class InputFiles {
 public:
  // Raises ValueError[data.input] where standard input is named twice; IoError.
  explicit InputFiles(const std::vector<std::string>& paths);
  ~InputFiles();
  InputFiles(const InputFiles&) = delete;
  InputFiles& operator=(const InputFiles&) = delete;

  std::vector<TableFile> files;

 private:
  TableFile kept(const std::string& path);
  std::vector<std::FILE*> copies_;
};

// How tables are read of which statistics are wanted.
struct StatisticsFlags {
  TableReading table;
  std::string missing, empty = "missing", weight, slice, cross;
  bool semantic_domains = false;
  tfmd::Schema schema = {};  // whose domains' words are values, whatever `missing` says

  // All flags but --slice and --cross.
  void add(CLI::App& verb);
  // Those that were given, for a command that reads the same files.
  std::vector<std::string> words() const;
  // Raises ValueError[stats.flags] where some were given and `file` holds statistics or a schema.
  void check_unused(const TableFile& file) const;
};

// Whether a file holds messages of tensorflow_metadata: by its ending or its beginning. All others are
// tables.
bool holds_messages(const TableFile& file);

// The message in a file, plain or gzip. Raises as parse_metadata(), with the name of the file.
template <class Message>
Message message_in(const TableFile& file) {
  Message message;
  try {
    parse_metadata(posix_env().read_file(file.path), message);
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(file.name, ": ", error.message()), error.fix());
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(error.rule(), cat(file.name, ": ", error.message()), error.fix());
  }
  return message;
}

// The statistics of all rows of tables, or of those that sketches are of. What was passed over, and how many
// rows there are, is said on standard error. Raises as statistics_of_tables() and merged_sketches(),
// ValueError[stats.files], [stats.flags] for files and flags that do not go together.
TableStatistics measure(const StatisticsFlags& flags, const std::vector<TableFile>& files);
// The statistics in a file, or of a table or a sketch.
tfmd::DatasetFeatureStatisticsList statistics_in(const StatisticsFlags& flags, const TableFile& file);

}  // namespace espalier::cli
