// What `espalier check` was asked, and what it reads for that.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/interval_flags.h"
#include "cli/schema_slices.h"
#include "cli/slice_flags.h"
#include "format/expression.h"
#include "gate/data_faults.h"
#include "gate/gates.h"
#include "plan/plan.h"
#include "tables/scored_table.h"
#include "tables/table_reading.h"

namespace espalier::cli {

struct CheckRun {
  std::string model, data, scores, baseline, gates, train, from, schema, environment;
  std::string html, verify, junit, prometheus, csv, today;
  std::optional<Expression> where = {};
  SlicingSchema of_schema = {};
  int64_t with_rows = 0, rare = kRareRows;  // of the page
  bool init = false, strip_label_dots = false, all_rows = false;
  ScoredColumns scored;
  SliceFlags slicing;
  const Gates* read_gates = nullptr;  // those of `gates`, once they are read
  IntervalFlags intervals;
  DevicePlan device = {};  // where a model computes
  TableReading table;
  Results results;
};

// "2031-12-31", or of "" today. Raises ValueError[check.today].
std::chrono::year_month_day date_of(const std::string& text);
// The rows of `scores`, or of the model where it is "". Raises as read_scores() and score_table().
ScoredTable rows_of(const CheckRun& run, const std::string& scores, const std::optional<Expression>& where);
// With histograms for a page. Raises as SliceFlags::assess().
Assessment assessment_of(const CheckRun& run, const SliceFlags& slicing, const ScoredTable& rows,
                         double level);
// The arguments of a check of the same rows.
std::vector<std::string> check_again(const CheckRun& run);

// The training table, the evaluated rows, and what is wrong with them.
struct Tables {
  CsvTable train, now;
  DataFaultOptions options;
  DataAnswer data;
};
// None without --train. Raises ValueError[check.train] where it names the evaluated rows.
std::optional<Tables> tables_of(const CheckRun& run, const ScoredTable& rows);

}  // namespace espalier::cli
