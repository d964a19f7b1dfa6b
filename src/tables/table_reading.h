// How tables are read from files.
#pragma once

#include <string>
#include <vector>

#include "base/messages.h"
#include "espalier/csv.h"

namespace espalier {

struct TableReading {
  std::string delimiter = {}, header = "guess";  // guess, yes or no
  std::vector<std::string> names = {};
  std::string decimal = "guess";
  char in_doubt = 0;  // CsvOptions::decimal_in_doubt

  // For rows beside others: where they do not tell their decimal sign, it is `point`, as CsvNumbers have it.
  TableReading beside(char point) const;
  // The character of --delimiter, 0 when it is to be guessed. Raises ValueError[csv.delimiter].
  char separator() const;
  // `expected`: names that the table may have. Raises as separator().
  CsvOptions csv_options(const std::vector<std::string>& expected = {}) const;
  // The flags that say so, for a command that reads the same file.
  std::vector<std::string> words() const;
  // The table at `path`; "-" is standard input. Notes say what of the file is not in it. Raises as
  // check_table_file() and parse_table().
  CsvTable read(const std::string& path, const std::vector<std::string>& expected,
                const Messages& messages) const;
  // Raises ValueError[table.delimiter] for a table of one column where another delimiter would part it, or
  // none was to be given.
  void check_parted(const CsvTable& table, const std::string& path) const;
};

// Raises IoError[file.read] for a path that is no file, with what may be meant; "-" is one.
void check_table_file(const std::string& path);
// Raises ValueError[results.csv] for a file to be written that its name would keep from being read as CSV.
void check_csv_name(const std::string& path);

}  // namespace espalier
