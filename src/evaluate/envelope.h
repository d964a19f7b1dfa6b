// What new rows hold that training rows did not: numbers beyond all of theirs, dates far off, cells of
// another form, values that nobody had, cells that are missing. Few rows are checked as many are: by the
// exact chance that such rows fall among the new ones alone.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/column_steps.h"
#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"
#include "evaluate/not_compared.h"

namespace espalier {

// The chance that `beyond` or more of `now` values lie above all of `before` others, where all are of one
// continuous law; at most that where values are tied. Any order of the values is then as likely as another:
// the product of (now - i) / (before + now - i) over i < beyond. REQUIRES: beyond <= now.
double beyond_chance(int64_t beyond, int64_t before, int64_t now);
// The chance that of so many rows of a kind, `kind_before` of `before` and `kind_now` of `now` rows, as many
// or more are among those now, where any division of all rows into these two is as likely as another
// (Fisher's exact test, one side). REQUIRES: kind_before <= before, kind_now <= now.
double more_often_chance(int64_t kind_before, int64_t before, int64_t kind_now, int64_t now);
// At least the chance of a value that stands in `most` of `now` rows, or of `fresh` values, and in none of
// `before`, where a column has `values` different ones in all: by Bonferroni over the values that may stand
// in so many rows, and by counting one row of each value. REQUIRES: most >= 1, fresh <= values.
double fresh_values_chance(int64_t most, int64_t fresh, int64_t values, int64_t before, int64_t now);

enum class NovelOf {
  kForm,     // cells that are not read as those of training rows are: another unit, words, dates in another
             // style
  kMissing,  // cells that are missing more often
  kValues,   // categories that no row had
  kRange,    // numbers beyond all; dates farther from all than these are apart, and than 62 days: days go on
};
struct Novel {
  std::string column;
  NovelOf what = NovelOf::kForm;
  int64_t rows = 0, of = 0;      // such rows, and of how many
  int64_t below = 0, above = 0;  // of kRange: `rows` by their side
  int64_t far_out = 0;           // of kRange: rows that lie farther off than all training rows are apart
  bool dates = false;
  double p = 1, adjusted_p = 1;  // by Holm over all columns and questions
  bool sure = false;             // adjusted_p is at most alpha
  int64_t needed = 0;  // rows with which chance could be told from a change; 0 where there are enough
};
// `column "age": 15 of 15 rows lie above and 0 below all training rows`.
std::string text(const Novel& novel);

// The chance of an alarm where nothing changed, of all columns together: half of what a look at two tables
// has, the other half is that of drift.
inline constexpr double kNovelAlpha = 0.025;

struct NovelOptions {
  double alpha = kNovelAlpha;
  MissingWords missing = ColumnOptions{}.missing;
  std::vector<std::string> names = {};  // of the new table's columns; empty: its own
  std::set<std::string> plain = {};     // columns that are known to hold nothing new
};

// Why nobody can tell what is new in a column: of a model that keeps no counts, or of a column of more rare
// values than are kept; "" where one can.
std::string why_not_asked(const ColumnStep& step);

// What `trained` says of columns, as training reads them, against those rows of `now` (all: all_rows());
// where it does not say how many cells trained, nothing is said. In the order of the columns, those questions
// alone that found a row. This is the check of `espalier check`, `data check` and `predict`. `left_out`
// gets the columns of why_not_asked().
std::vector<Novel> find_novel(std::span<const ColumnStep> trained, const CsvTable& now,
                              std::span<const int64_t> rows, const NovelOptions& options = {},
                              std::vector<NotCompared>* left_out = nullptr);

// What training would do with the columns of a table, constants too; those that name rows, no two of them
// alike, and those without any value are left out and said to be.
std::vector<ColumnStep> trained_steps(const CsvTable& train, const MissingWords& missing,
                                      std::vector<NotCompared>& left_out);

}  // namespace espalier
