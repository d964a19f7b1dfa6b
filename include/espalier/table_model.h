// Models of tables: from rows with a label to predictions with their meaning, in one type.
//
//     const CsvTable people = read_csv("people.csv");
//     const TableModel model = TableModel::train(people, {.label = "income"});
//     model.save("people");
//     const TablePredictions said = TableModel::load("people").predict(people);
//     std::cout << said.rows[0].said << " " << said.rows[0].probability;
//
// The model, its files and its figures are those of `espalier train`, `predict` and `evaluate`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/columns.h"
#include "espalier/csv.h"
#include "espalier/decision.h"
#include "espalier/error.h"
#include "espalier/release.h"

namespace espalier {

// How far work on a table is.
struct TableProgress {
  std::string what;                         // "looking at columns", "training", "predicting"
  int64_t done = 0, total = 0;              // columns, epochs, rows
  std::map<std::string, double> logs = {};  // of an epoch: "loss", "val_loss", "accuracy", ...
};

// What is learned, and how; what is left out is as `espalier train` has it.
struct TableOptions {
  // The column to learn: its name, its number from 1, or "last".
  std::string label = {};
  // Columns that are no inputs, and those that are inputs even where they would be set aside.
  std::vector<std::string> ignore = {}, include = {};
  // "guess", "class" or "number".
  std::string task = "guess";
  // Cells that hold no value.
  std::vector<std::string> missing = ColumnOptions{}.missing;
  bool strip_label_dots = false, merge_labels = false;
  // Of two classes the positive one; "": that of a known pair, as yes of yes and no, else the rarer one.
  std::string positive = {};
  // Of two classes: from which probability on a row is said to be positive; none: the likelier class.
  std::optional<double> threshold = {};

  // Rows to test on; none: `test_fraction` of the rows, drawn by `seed`, or the last ones with `in_order`.
  std::optional<CsvTable> test = {};
  double test_fraction = 0.2;
  double validation_fraction = 0.1;  // of the other rows: they say when training stops
  bool in_order = false;

  // What learns: "network", or "linear" for one without hidden layers.
  std::string kind = "network";
  // Units of hidden layers; empty: two of 64.
  std::vector<int64_t> hidden = {};
  int epochs = 60;  // at most
  int64_t batch_size = 64;
  std::optional<double> learning_rate = {};
  // "none", or "balanced" so that rare classes count as much as common ones.
  std::string class_weight = "none";
  uint64_t seed = 0;

  // Called on the thread that trains.
  std::function<void(const TableProgress&)> on_progress = {};
  // Sentences on what was found in the rows; those of `warning` may make the model worth less than it seems.
  std::function<void(const std::string& sentence, bool warning)> on_message = {};
};

// What a model says of one row.
struct TablePrediction {
  std::string said = {};                  // the class; "" of a number
  double probability = 0;                 // of that class
  std::vector<float> probabilities = {};  // of each class, in the order of TableModel::classes()
  double value = 0;                       // of a number: in the label's unit
  bool cut = false;      // whether the value lay beyond those of the training rows, and is the nearest
  bool outside = false;  // whether a cell lies outside of what the training rows had
  std::vector<std::string> unlike = {};  // the columns of such cells
};

struct TablePredictions {
  std::vector<TablePrediction> rows;
  ColumnReport report;                // of the cells of all of them
  std::vector<std::string> warnings;  // what of that is worth a look, a sentence each
};

// Immutable; copies share. Any number of threads may predict and evaluate at once.
class TableModel {
 public:
  // Trains on the rows of `table`, or of the file at `path`. Raises what `espalier train` does: csv.column,
  // train.rows, columns.*, train.diverged, ...; ValueError[table.kind] for a kind that is none.
  static TableModel train(const CsvTable& table, const TableOptions& options, Location at = Location::here());
  static TableModel train(const std::string& path, const TableOptions& options,
                          Location at = Location::here());
  // A folder that `espalier train`, or save(), wrote. Raises IoError, FormatError that names the file, and
  // ValueError[model.columns] for a model that takes no tables.
  static TableModel load(const std::string& path, Location at = Location::here());

  // What it says of each row. Columns are found by name; the label may be lacking. Raises
  // ValueError[csv.column] for columns that are lacking, [table.rows] for no rows, [table.column] for a
  // column none of whose cells can be read.
  TablePredictions predict(const CsvTable& table, Location at = Location::here()) const;
  // How good it is on rows with their label, over all and in slices: `options.columns` is this table unless
  // it is given. Rows without a label are left out. Two classes neither of which is known to be positive have
  // the figures of several classes. Raises what predict() and evaluate_scores() do, and table.labels for
  // none.
  Evaluation evaluate(const CsvTable& table, const EvaluationOptions& options = {},
                      Location at = Location::here()) const;
  // Into a folder, which is replaced. Raises IoError.
  void save(const std::string& path, Location at = Location::here()) const;

  const ColumnProgram& columns() const;
  const Decision& decision() const;
  // None of a number.
  std::vector<std::string> classes() const { return columns().classes(); }
  // "network" or "linear".
  const std::string& kind() const;
  // How it did on its test rows: accuracy, auc, log_loss; r2, mae, rmse.
  const std::map<std::string, double>& test_figures() const;

  struct State;
  explicit TableModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace espalier
