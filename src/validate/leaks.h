// What tells a model the answer before it is asked, or lets it be asked what it was told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"

namespace espalier {

enum class LeakKind {
  kLabel,           // a column alone tells the label
  kDuplicates,      // rows that repeat others before them
  kContradictions,  // rows alike but for the label
  kNearDuplicates,  // rows that differ in one column alone
  kOverlap,         // test rows among the training rows
  kNearOverlap,     // the same but for one column
  kFutureColumn,    // dates that lie behind that of their row
  kTimeTravel,      // rows of the test from before the training ends
};
inline constexpr std::string_view kLeakKinds[] = {"label",           "duplicates", "contradictions",
                                                  "near_duplicates", "overlap",    "near_overlap",
                                                  "future_column",   "time_travel"};

struct LeakFinding {
  LeakKind kind = LeakKind::kLabel;
  bool warning = false;      // or worth a look
  std::string column = {};   // "" where it is about whole rows
  int64_t rows = 0, of = 0;  // so many of so many
  std::string text = {};     // one sentence; no value of any cell is in it
};

// Of fewer training rows nothing is known but which test rows are among them.
inline constexpr int64_t kRowsForLeaks = 20;

struct LeakOptions {
  std::string label = {};  // "" without one
  // The column with the time of a row's prediction, as split_by_time() takes it; dates of other columns are
  // held against dates alone. "": the only one of dates, if it is.
  std::string time = {};
  MissingWords missing = ColumnOptions{}.missing;
};

// Of a table, and of a test table with the same columns (null without). Columns whose values all
// differ name rows and are not compared. Rows count as repeated where rows are mostly unlike each other: at
// least nine in ten differ; in other tables the like of each other are no finding. Cells are equal as
// EqualValues has it, and compared by 64-bit hashes; dates with offsets from UTC are instants. Raises
// ValueError: csv.column, leaks.columns where the other table lacks one, leaks.time for a time of neither
// dates nor numbers, dates.offsets where some dates of the column that is asked for have an offset and others
// have none.
std::vector<LeakFinding> find_leaks(const CsvTable& table, const CsvTable* test, const LeakOptions& options);

}  // namespace espalier
