// A saved model that takes rows of a table, and what it takes of them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/messages.h"
#include "data/missing_words.h"
#include "data/positive_class.h"
#include "espalier/columns.h"
#include "espalier/decision.h"
#include "espalier/saved_model.h"
#include "tables/table_reading.h"

namespace espalier {

// Raises ValueError[model.order] where the model and its rows are named the other way round.
void check_order(const std::string& model, const std::string& data);

// Raises ValueError: table.threshold, table.positive where there are not two classes.
void check_decision(const ColumnProgram& columns, const Decision& decision);
void check_positive(const ColumnProgram& columns, const std::string& positive);
// What the model at `path` says of it; its default of an older one. Raises FormatError[model.decision].
Decision decision_of(const LoadedModel& model, const ColumnProgram& columns, const std::string& path);

// A file of the model at `path`, whose mistakes name it: anybody may have edited it. Raises FormatError.
nlohmann::ordered_json json_file(const LoadedModel& model, const std::string& name, const std::string& path);

// A saved model that takes rows of a table.
struct LoadedTableModel {
  LoadedModel model;
  ColumnProgram columns;
  Decision decision;
  PositiveClass positive = {};  // the decision's, and why; nothing of other than two classes

  // `threshold` counts more than the model's. Raises IoError, FormatError, ValueError[model.columns] for a
  // model that takes no tables, ValueError[table.threshold].
  static LoadedTableModel load(const std::string& path, const std::optional<double>& threshold = {});
  // What is positive of two classes: what `said` names, else the model's own, else what a known pair tells;
  // the other probability is scored where that is not the model's. `path` is what errors call the model.
  // Raises as positive_class(), table.positive; positive.threshold where the model's own threshold is of the
  // other class, with this `fix`, or the verb that sets another, unless `threshold` was given instead;
  // positive.differs where gates alone name the other one; positive.unknown for a threshold of nobody knows
  // which class.
  void count_from(const PositiveSaid& said, const std::string& path, bool threshold = false,
                  const std::string& fix = {});
  // Raises ValueError[positive.unknown] where nothing says which of two classes is positive, and `who` counts
  // it.
  void need_positive(const std::string& who) const;
  // The table at `path`, which must have this model's columns. A note says when they are taken by position.
  CsvTable read(const TableReading& reading, const std::string& path, const Messages& messages) const;
};
// The columns of a model. Raises ValueError[model.columns] for one that takes no tables, FormatError.
ColumnProgram columns_of(const LoadedModel& model, const std::string& path);
// Words of cells that hold no value to it.
MissingWords missing_words_of(const ColumnProgram& columns);
inline constexpr const char* kColumnsFile = "columns.json";
inline constexpr const char* kDecisionFile = "decision.json";

// What is known of the columns.
nlohmann::ordered_json json_of_notes(const ColumnProgram& columns);
// ColumnProgram::labels and inputs of the table at `path`, whose mistakes name that and flags of verbs. A
// column of which no cell can be read is a mistake, raised as ValueError[table.column].
// Raises ValueError[csv.column] that names every column that the table of test rows at `path` lacks.
void check_test(const ColumnProgram& columns, const CsvTable& table, const std::string& path);
Tensor read_labels(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows = {});
Tensor read_inputs(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows = {}, ColumnReport* report = nullptr);
// The rows of such a table that have a label; it warns of those that have none. Raises
// ValueError[table.labels] when there is none.
std::vector<int64_t> labelled_test_rows(const ColumnProgram& columns, const CsvTable& table,
                                        const std::string& path, const Messages& messages);
// What to warn of: cells that could not be used.
std::vector<std::string> warnings_of(const ColumnReport& report);
// What of these rows `espalier check` would call a fault beside the training rows: find_novel() of those
// columns of which `report` counts something new.
std::vector<std::string> faults_of(const ColumnProgram& columns, const CsvTable& table,
                                   std::span<const int64_t> rows, const ColumnReport& report);
// Numbers and dates outside of the training rows' range, a text for each of five columns and one for all.
std::vector<std::string> beyond_of(const ColumnReport& report);

}  // namespace espalier
