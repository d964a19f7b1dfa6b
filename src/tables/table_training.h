// Training on a table, step by step; what lies between the steps is the caller's: a command shows it, a
// program need not.
//
//     TableTraining training = TableTraining::prepare(plan, table, {}, checks, messages);
//     Sequential model = training.make_model();
//     const FitOptions options = training.fit_options();
//     set_seed(plan.fit.seed);
//     TrainedTable trained = {model, model.fit(training.x, training.y, options).size(), ledger};
//     training.test(trained, messages);
//     training.save(trained);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/messages.h"
#include "espalier/columns.h"
#include "espalier/decision.h"
#include "espalier/model.h"
#include "plan/plan.h"
#include "tables/ledger.h"
#include "tables/linear_model.h"
#include "tables/row_checks.h"
#include "tables/scores.h"
#include "tables/split.h"

namespace espalier {

// "income", "15" for the fifteenth where no column has that name, or "last". Raises ValueError[csv.column].
std::string column_named(const CsvTable& table, const std::string& wanted);

// A model of a table that has been trained.
struct TrainedTable {
  Sequential model;
  size_t epochs = 0;
  std::shared_ptr<Ledger> ledger = {};
  std::string run = {},
              kind = {};  // of training.json: name_of_run(), and what learned where that is no network
  nlohmann::ordered_json linear = {};  // how the linear model beside it did; null: there is none
  Predictions predictions = {};        // of the test rows
  Scores scores = {};
};

struct TableTraining {
  TrainPlan plan;
  CsvTable table;                       // the rows as the schema makes them
  CsvTable test_table;                  // `table`, unless the test rows lie elsewhere
  TrainingSplit rows;                   // of `table`
  std::vector<int64_t> test_rows = {};  // of `test_table`
  ColumnProgram columns;
  PositiveClass positive = {};
  Decision decision = {};
  Tensor x = {}, y = {}, validation_x = {}, validation_y = {}, test_x = {}, test_y = {};
  std::string learned = {};           // kLearnedFile
  std::string schema = {};            // kSchemaFile; "": none
  nlohmann::ordered_json known = {};  // of training.json, before the training

  // Called once the columns are known: the test rows, or none for a share of the rows.
  using ReadTest = std::function<std::optional<CsvTable>(const ColumnProgram& columns)>;
  // Looks at the rows of `read`, parts them, fits the columns and computes what the model takes. `checks`
  // holds rows against the plan's schema. Raises what `espalier train` raises before its first step, with the
  // plan's places.
  static TableTraining prepare(const TrainPlan& plan, const CsvTable& read, const ReadTest& read_test,
                               RowChecks& checks, const Messages& messages);

  // How messages call the test rows' file.
  const std::string& test_path() const { return plan.data.test.empty() ? plan.data.file : plan.data.test; }
  // The plan's layers and one for the label, compiled.
  Sequential make_model() const;
  // The plan's, with the validation rows and class weights; models that its callbacks save have this one's
  // files.
  // `shown`: with progress on standard error.
  FitOptions fit_options(bool shown = true) const;
  // The loss on the validation rows.
  double loss_of(Sequential& model) const;
  // Puts the linear model in the place of the other where its loss is lower; a line of `messages` says both.
  void compare(TrainedTable& trained, const LinearModel& linear, const Messages& messages) const;
  // What the model says of the test rows, and how good that is. Raises ValueError[train.diverged] for what is
  // no number.
  void test(TrainedTable& trained, const Messages& messages) const;
  // What is wrong with the model as a whole, if something is.
  std::vector<std::string> verdict(const Scores& scores) const;
  // What the threshold would do that the validation rows choose; "" where it would do little.
  std::string better_threshold(const TrainedTable& trained) const;
  // training.json: what is known, and how it went.
  nlohmann::ordered_json history(const TrainedTable& trained) const;
  // The files beside the model's own.
  std::map<std::string, std::string> files(const nlohmann::ordered_json& history) const;

 private:
  void take_test_rows(RowChecks& checks, const MissingWords& missing, const Messages& messages);
  void compute_inputs(const Messages& messages);
  void describe(const RowChecks& checks);
};

}  // namespace espalier
