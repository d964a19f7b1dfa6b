// TensorFlow Data Validation's default statistics of tables.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "validate/metadata_files.h"
#include "validate/statistics_column.h"
#include "validate/statistics_crosses.h"
#include "validate/table_rows.h"

namespace espalier {

struct StatisticsOptions {
  CsvOptions csv = {};  // of CSV alone, as the next
  EmptyCells empty = {};
  std::string weight = {};        // a column of numbers from 0 to 1e9, by which rows count; "": all count 1
  std::string slice = {};         // a column, for each value of which the rows get statistics of their own
  bool semantic_domains = false;  // whether it is asked whether values are times
  // Columns of numbers of which each two have statistics of their rows together; empty: all of them.
  std::optional<std::vector<std::string>> crosses = {};
  size_t block = size_t{1} << 20;  // bytes that a thread takes at a time
};

// The columns of a table.
struct TableColumns {
  std::vector<std::string> names;
  std::vector<CellType> types;
};

// What the statistics of tables are made of. Equal rows, in any order and however they were shared out and
// merged, have equal statistics as long as these are exact; where texts were forgotten, the order of the rows
// within each part counts, that of merging does not.
class TableStatistics {
  struct Part;

 public:
  static constexpr size_t kMostSlices = 200;
  static constexpr size_t kMostCrosses = 8192;

  // Raises ValueError[stats.weight], [stats.slice], [stats.crosses] for columns that there are not.
  TableStatistics(TableColumns columns, const StatisticsOptions& options);

  // Rows with their slices and weights, to be added column by column. A row is in each slice of whose column
  // it has the value.
  struct Rows {
    const TableRows* cells;
    std::vector<FixedWeight> weights;
    std::map<std::string, std::vector<uint32_t>, std::less<>> slices;
    std::vector<Part*> parts = {};  // of the slices: found once, since others may add slices meanwhile
  };
  // Raises ValueError[stats.weight] with the place.
  Rows read(const TableRows& cells) const;
  // The slices and the number of the rows. Raises ValueError[stats.slices] for more than 200 slices,
  // [stats.crosses] for more than 8192 pairs in all data sets.
  void add_rows(Rows& rows);
  // The same for rows that were counted before.
  void find_slices(Rows& rows);
  // The cells of a column of rows that add_rows() was given. Those of different columns may be added at one
  // time by different threads.
  void add_column(size_t column, const CellBatch& cells, const Rows& rows);
  // The numbers of two columns, x < y, of the same rows, as single_numbers() gives them. Those of different x
  // may be added at one time. REQUIRES: crossed(x), crossed(y).
  void add_cross(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys,
                 const Rows& rows);
  // Whether a column is of numbers that are crossed with others.
  bool crossed(size_t column) const;
  // Reads a column as TableRows::read(), its equal cells as one where nothing is asked of single rows.
  CellType read_column(const TableRows& cells, size_t column, EqualCells& equal, CellBatch& out) const;
  // All of these. REQUIRES: cells of the columns' types.
  void add(const TableRows& cells);

  // REQUIRES: of the same columns and options.
  void merge(const TableStatistics& other);
  // The same with other types, as ColumnStatistics::as().
  void set_types(const std::vector<CellType>& types);
  // All of it as bytes, from which more can be merged later: equal for equal cells. read_bytes() raises
  // FormatError[sketch.*].
  std::string bytes() const;
  static TableStatistics read_bytes(std::string_view bytes);

  uint64_t rows() const { return all_.totals.rows; }
  const TableColumns& columns() const { return columns_; }
  const StatisticsOptions& options() const { return options_; }
  // What was passed over in the files, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  // Texts that are no UTF-8, of all columns.
  uint64_t broken_texts() const;
  // Gives a column another type, and forgets its cells unless that is kNone: then it had no values.
  void restart(size_t column, CellType type);
  // One data set; with slices, "All Examples" and then "column_value" for each, in order. Without rows there
  // are no features.
  tfmd::DatasetFeatureStatisticsList list() const;

 private:
  struct Part {
    RowTotals totals;
    std::vector<ColumnStatistics> columns;
    Crosses crosses{0};
  };
  Part make_part() const;
  static void write(const Part& part, SketchWriter& out);
  static void read(Part& part, SketchReader& in);
  void choose_crosses();
  void check_crosses() const;
  size_t column_of(const std::string& name, const char* rule, const char* flag) const;
  tfmd::DatasetFeatureStatistics data_set(const Part& part, const std::string& name) const;

  TableColumns columns_;
  StatisticsOptions options_;
  std::vector<std::string> notes_;
  SketchRoom room_;
  size_t weight_ = 0, slice_ = 0;
  std::vector<bool> chosen_;  // columns whose numbers are crossed
  Part all_;
  std::map<std::string, Part, std::less<>> slices_;
};

struct TableFile {
  std::string path;
  std::string name;  // in mistakes
};

// The statistics of all rows of files of one form, on the threads of thread_pool(): equal for any number of
// threads. CSV files have equal names; they are read once, and again for columns whose later cells have
// another type than their first ones. Other files are read twice, first to find their columns, which are in
// order of their names. Memory does not grow with the files. `on_read` is told of each part that was read of
// a file how many bytes of what it holds were read so far, by one thread at a time. Raises IoError,
// FormatError, ValueError with the name of the file.
using OnRead = std::function<void(const TableFile& file, uint64_t bytes)>;
TableStatistics statistics_of_tables(const std::vector<TableFile>& files, const StatisticsOptions& options,
                                     const OnRead& on_read = {});

// The same of a table that was read already; options.csv is passed over. Raises ValueError.
TableStatistics statistics_of_table(const CsvTable& table, const StatisticsOptions& options);

}  // namespace espalier
