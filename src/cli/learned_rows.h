// Which rows of a table a model learned from, told by their cells: in whatever file and order they lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table_data.h"

namespace espalier::cli {

// Of the inputs of each row a hash.
class RowHashes {
 public:
  RowHashes(const ColumnProgram& columns, const CsvTable& table, const std::vector<int64_t>& rows);

  // What kLearnedFile holds of these rows, a hash_list(): different hashes; of more than 4,096 the least,
  // which are a fair sample.
  std::string learned_text() const;
  // How many of these rows are alike to one of `others`.
  int64_t count_in(const RowHashes& others) const;
  const std::vector<uint64_t>& all() const { return hashes_; }

 private:
  std::vector<uint64_t> hashes_;
};

// Warns where `rows` of the table at `data` are those that the model saved at `path` learned from, to a
// greater share than chance would have it. Raises FormatError[model.lineage].
void warn_of_learned_rows(const TableModel& saved, const std::string& path, const CsvTable& table,
                          const std::string& data, const std::vector<int64_t>& rows, const Results& results);

}  // namespace espalier::cli
