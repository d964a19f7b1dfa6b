// Tables for verbs: the flags that say how one is read, and what a model makes of its rows.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"
#include "espalier/columns.h"
#include "espalier/saved_model.h"
#include "report/terminal.h"

namespace espalier::cli {

// How a CSV is read.
struct TableFlags {
  std::string delimiter, header = "guess";
  std::vector<std::string> names = {};

  void add(CLI::App& verb);
  // The character of --delimiter, 0 when it is to be guessed. Raises ValueError[csv.delimiter].
  char separator() const;
  // The flags that were given, for a command that reads the same file.
  std::vector<std::string> words() const;
  // The table at `path`; "-" is standard input. `expected`: names that it may have.
  CsvTable read(const std::string& path, const std::vector<std::string>& expected = {}) const;
};

// A saved model that takes rows of a table.
struct TableModel {
  LoadedModel model;
  ColumnProgram columns;

  // Raises IoError, FormatError, and ValueError[model.columns] for a model that takes no tables.
  static TableModel load(const std::string& path);
  // The table at `path`, which must have this model's columns. A line on standard error says when they are
  // taken by position.
  CsvTable read(const TableFlags& flags, const std::string& path) const;
};
inline constexpr const char* kColumnsFile = "columns.json";

// What a model says of each row.
struct Predictions {
  std::vector<float> outputs;  // of a classification: probabilities [rows, classes]
  std::vector<int64_t> best;   // the likeliest class
  std::vector<double> values;  // of a regression, in the label's unit, within the training rows' labels
  int64_t cut = 0;             // values that lay beyond those
};
Predictions predict_rows(Model& model, const ColumnProgram& columns, const Tensor& inputs);

// How good predictions are.
struct Scores {
  int64_t rows = 0;
  // Of a classification.
  double accuracy = 0, base_rate = 0, log_loss = 0;  // base_rate: always saying the commonest class
  double auc = -1;                                   // -1: not two classes, or one of them is absent
  std::vector<int64_t> counts = {};                  // [true * classes + predicted]
  // Of a regression.
  double r2 = 0, mae = 0, rmse = 0, mae_of_mean = 0;  // mae_of_mean: always saying the mean
};
Scores score(const ColumnProgram& columns, const Predictions& predictions, const Tensor& labels);

// For people: metrics, and the table of mistakes.
std::string report_of(const Scores& scores, const ColumnProgram& columns, const Terminal& terminal);
// The same fields as JSON.
nlohmann::ordered_json json_of(const Scores& scores, const ColumnProgram& columns);
// ColumnProgram::labels and inputs of the table at `path`, whose mistakes name that and flags of verbs. A
// column of which no cell can be read is a mistake, raised as ValueError[table.column].
Tensor read_labels(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows = {});
Tensor read_inputs(const ColumnProgram& columns, const CsvTable& table, const std::string& path,
                   ColumnProgram::Rows rows = {}, ColumnReport* report = nullptr);
// The rows of such a table that have a label; how many have none is a line on standard error. Raises
// ValueError[table.labels] when there is none.
std::vector<int64_t> labelled_test_rows(const ColumnProgram& columns, const CsvTable& table,
                                        const std::string& path);
// Cells that could not be used, a line each, for standard error.
std::string warnings_of(const ColumnReport& report);

}  // namespace espalier::cli
