// Rows of tables of any form, a block at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/csv.h"
#include "validate/statistics_cells.h"

namespace espalier {

// What a file of rows is.
enum class TableForm { kCsv, kJsonLines, kExamples };
// kExamples: a TFRecord, gzip too, whose first record is a tf.Example; kJsonLines: a file whose
// name ends in .jsonl, .ndjson or .json, or does not in .csv or .tsv and whose text begins with "{". Raises
// IoError, FormatError[gzip.*], [record.*].
TableForm table_form(const std::string& path);
// The same of bytes that a file of this name holds, and that are no gzip.
TableForm table_form(const std::string& name, std::string_view bytes);
// What a name alone says, gzip too; nothing with other endings.
std::optional<TableForm> form_of_name(const std::string& name);

// Some whole rows as they stand in their file.
struct TableBlock {
  std::string bytes;
  int64_t first = 1;    // the line or the record that is the first, from 1
  uint64_t offset = 0;  // where it stands
  bool ascii = false;   // it is known to be
  bool bare = false;    // of CSV, as CsvBlock has it
};

// The rows of a block.
class TableRows {
 public:
  virtual ~TableRows() = default;
  virtual size_t rows() const = 0;
  // Where a row stands in its file, as mistakes say it: "line 3".
  virtual std::string place(size_t row) const = 0;
  // Reads a column as `type`: the one at `column`, or, where rows name their values, `name`. Returns the type
  // of its values; when that is beyond `type`, `out` holds no more than its states, and not all of these.
  virtual CellType read(size_t column, std::string_view name, CellType type, CellBatch& out) const = 0;
  // The same, or each different cell with its count, in the order of their first rows.
  virtual CellType read_counted(size_t column, std::string_view name, CellType type, EqualCells&,
                                CellBatch& out) const {
    return read(column, name, type, out);
  }

  // A column that is named here, and the first row that has it.
  struct Named {
    std::string_view name;
    CellType type = CellType::kNone;
    std::string place;
  };
  // Where rows name their values, all columns, in any order.
  virtual std::vector<Named> columns() const { return {}; }
  // The bytes of the block, for their memory. REQUIRES: nothing is asked for then.
  virtual std::string release() { return {}; }
};

// What values of both types are: the larger one; nothing where a column cannot have both.
using JoinTypes = std::optional<CellType> (*)(CellType, CellType);

// A file of rows in blocks. Where it is cut depends on the file alone.
class TableBlocks {
 public:
  virtual ~TableBlocks() = default;
  // The next rows; false at the end. May write over the bytes that `out` has, for their memory. For one
  // thread at a time.
  virtual bool next(TableBlock& out) = 0;
  // For any number of threads. Raises FormatError with the place.
  virtual std::unique_ptr<TableRows> rows(TableBlock block) const = 0;
  // The columns, where they have places.
  virtual const std::vector<std::string>& names() const = 0;
  // What was passed over, a sentence each.
  virtual const std::vector<std::string>& notes() const = 0;
  // Set where rows name their values: then there are no names().
  virtual JoinTypes join() const { return nullptr; }
};

// How tables are read; the first two are of CSV alone.
struct TableBlockOptions {
  CsvOptions csv = {};
  EmptyCells empty = {};
  size_t block = size_t{1} << 20;  // bytes that a thread takes at a time
};
// Raises IoError, FormatError, ValueError.
std::unique_ptr<TableBlocks> open_table(const std::string& path, TableForm form,
                                        const TableBlockOptions& options);

}  // namespace espalier
