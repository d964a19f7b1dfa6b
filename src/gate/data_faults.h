// What is wrong with the training rows of a model and the rows that it meets: all that is asked of data, in
// one answer.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/column_steps.h"
#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"
#include "evaluate/not_compared.h"
#include "fairness/rare_slices.h"
#include "validate/metadata_files.h"

namespace espalier {

enum class FaultOf {
  kSchema,  // find_schema_faults(), and of find_novel() form, missing cells and values
  kLeak,    // find_leaks()
  kRange,   // find_novel()'s
  kDrift,   // find_drift()
  kGroups,  // cells that are missing more often in one group: data_bias()
  kNames,   // columns that do nothing but name rows, which a model can learn by heart
  kCells,   // words among numbers, and values that differ in capitals or blanks alone, or look the same
};
inline constexpr std::string_view kFaultsOf[] = {"schema", "leak",  "range", "drift",
                                                 "groups", "names", "cells"};

struct DataFault {
  FaultOf of = FaultOf::kSchema;
  bool warning = true;      // or worth a look
  std::string column = {};  // "" where it is about whole rows
  std::string text = {};    // one sentence
};

// What was not asked, of too few rows or else: no pass, whatever is found otherwise.
struct NotJudged {
  FaultOf of = FaultOf::kSchema;
  NotCompared what;
  bool undecided = true;  // or of a column that no one reads, or a rule that warns: said, and no more
  bool of_rule = false;   // of a schema, which is of whole rows and of no column alone
};
struct DataAnswer {
  std::vector<DataFault> faults;
  std::vector<NotJudged> not_compared;

  // The first question that has no answer; null where each has one.
  const NotJudged* undecided() const;
  // What was not compared, each column and reason once.
  std::vector<NotCompared> listed() const;
};

struct DataFaultOptions {
  std::string label = {};                       // "" without one
  std::string time = {};                        // the column with the time of a row's prediction
  std::vector<std::string> groups = {};         // columns whose values are groups
  std::set<std::string> ignored = {};           // columns that schema, range and drift pass over
  std::set<std::string> unread = {};            // what knows the label there, no model is told
  std::set<std::string> read = {};              // what a model reads: not to be compared there is undecided
  std::vector<ColumnStep> steps = {};           // that the model keeps of it: what `predict` checks rows by
  std::optional<tfmd::Schema> schema = {};      // of new rows; none: the training rows say, beyond chance
  std::optional<std::string> environment = {};  // of new rows: one of the schema's
  int64_t k = kRareRows;                        // a value of fewer rows is not named
  // The chance of an alarm by drift, range or training rows, where nothing changed: half of it by drift, half
  // by what is new in the columns that the model reads, or in all without a model; of the others as much
  // again.
  double alpha = 0.05;
  MissingWords missing = ColumnOptions{}.missing;
};

// Of the training rows and, unless null, of those that the model meets: warnings first, then by FaultOf,
// then as their detectors sort them; and what could not be asked. Raises ValueError and FormatError as these.
DataAnswer ask_data(const CsvTable& train, const CsvTable* now, const DataFaultOptions& options);
// The faults of that.
std::vector<DataFault> find_data_faults(const CsvTable& train, const CsvTable* now,
                                        const DataFaultOptions& options);

}  // namespace espalier
