// Which slices of a table's rows are looked at, and what of them is shown.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/read_buckets.h"
#include "data/missing_words.h"
#include "fairness/assessment.h"
#include "format/expression.h"
#include "tables/scored_table.h"

namespace espalier::cli {

struct SliceFlags {
  std::vector<std::string> slices = {}, crosses = {}, buckets = {}, references = {}, metrics = {};
  // How columns are parted that are asked for without a --bucket.
  std::map<std::string, Buckets> usual_buckets = {};
  // Slices "name=yes" and "name=no" by what is true of a row.
  std::map<std::string, Expression> conditions = {};
  std::vector<double> thresholds = {};
  int64_t min_rows = 30;
  std::string missing = "slice", positive_from = "from";

  // All flags, or those that say which slices there are.
  void add(CLI::App& verb);
  void add_slices(CLI::App& verb);
  // Whether slices are asked for.
  bool any() const { return !slices.empty() || !crosses.empty() || !buckets.empty() || !conditions.empty(); }
  // The flags that were given.
  std::vector<std::string> words() const;
  std::vector<std::string> condition_words() const;
  // Of --bucket, by column. Raises ValueError[evaluate.slice] and [evaluate.bucket].
  std::map<std::string, Buckets> parted() const;
  // Calls `use` with the columns that rows are parted by, which live as long as the call. Raises ValueError:
  // csv.column, expression.*, evaluate.slice, evaluate.bucket.
  using UseSlicings = std::function<void(const std::vector<std::vector<const CategoryColumn*>>& slicings,
                                         const SliceOptions& options)>;
  void with_slicings(const ScoredTable& scored, const MissingWords& missing_words,
                     const UseSlicings& use) const;
  // What to say of cells that no bucket takes. Raises as assess().
  std::vector<std::string> unread(const ScoredTable& scored, const MissingWords& missing_words) const;
  // That, and what to say of columns of numbers that are parted by each of many values. Raises as assess().
  std::vector<std::string> advice(const ScoredTable& scored, const MissingWords& missing_words) const;
  // Figures of these rows; flags count more than `options`. Raises
  // ValueError: csv.column, expression.*, evaluate.slice, evaluate.bucket, evaluate.reference,
  // evaluate.metric, evaluate.thresholds.
  Assessment assess(const ScoredTable& scored, const MissingWords& missing_words,
                    AssessmentOptions options = {}) const;
  // The group of each slicing that others are compared with. Raises ValueError[evaluate.reference] where no
  // row is of it.
  std::map<std::string, size_t> reference_groups(const Assessment& assessment) const;
};

}  // namespace espalier::cli
