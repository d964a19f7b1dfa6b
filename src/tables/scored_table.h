// A file of what a model said: a label and a score in each row.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.h"
#include "data/missing_words.h"
#include "data/table_truths.h"
#include "fairness/assessment.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/scores.h"
#include "tables/table_reading.h"

namespace espalier {

// What a model says of a row.
enum class ScoreTask {
  kTwoClasses,  // the probability of one of two classes
  kClasses,     // the probability of each of several classes, or the likeliest
  kRegression,  // a number
  kRanking,     // a number that orders the rows of a query
};
// Those that rows are said to be of: two-classes, classes, regression.
std::vector<std::string> task_names();
// By one of these.
ScoreTask task_named(std::string_view word);

struct ScoredColumns {
  std::string label = {}, score = {}, weight = {}, positive = {};
  std::string favourable = {}, gates = {};  // what a schema, and a file of gates, calls positive
  // Of a baseline beside a model: the class that is positive now. The scores are of the one of their labels'
  // pair, else of what is said, and are turned round where they are of the other.
  std::string counted = {};
  std::string query = {};  // makes the task one of ranking
  ScoreTask task = ScoreTask::kTwoClasses;
  bool strip_label_dots = false;  // of a flag that verbs have for models too
  MissingChoice missing = {};

  // The columns that they name. Raises ValueError[scores.classes] for two of one class.
  std::vector<std::string> columns() const;
  // As flags of the command, those that were given; of a model --query alone has a meaning.
  std::vector<std::string> words() const;
  PositiveSaid said() const { return {.gates = gates, .flag = positive, .schema = favourable}; }
  // Raises ValueError[rule] for given flags that have a meaning for files of scores alone: a model knows
  // them.
  void check_beside_model(const char* rule) const;
};

// The rows of a table that have a label, with what a model said of them.
struct ScoredTable {
  CsvTable table;
  std::vector<int64_t> rows;  // of the table
  ScoreTask task = ScoreTask::kTwoClasses;
  std::vector<double> scores;  // of several classes [rows, classes], or none
  std::vector<double> weights;
  std::vector<uint8_t> labels;               // of two classes
  std::vector<std::string> classes = {};     // of several, and of two; of a file those that it has
  std::vector<uint32_t> is = {}, said = {};  // places in `classes`
  std::vector<double> truths;                // of a regression; of a ranking what rows are worth
  std::vector<uint32_t> queries = {};        // of a ranking
  PositiveClass positive = {};               // the label of those that are, and why; of two classes
  std::string turned = {};            // the class that a file's scores are of, where it is not positive
  std::string label;                  // the column
  std::optional<KeptRows> kept = {};  // what a condition made of the rows with a label
  MissingWords missing = ColumnOptions{}.missing;  // cells that hold no value
  std::optional<double> decided = {};              // the threshold of a model that has one of its own
  std::string learned_from = {};                   // the table that a model says it was trained on

  // Makes of two classes or a regression a ranking of the rows of each value of the column; labels are what
  // a row is worth. Raises ValueError with `file` and the line: csv.column, scores.query for a row without a
  // query, scores.label for a label below 0; evaluate.task of several classes.
  void rank_by(const std::string& query, const std::string& file);
  // Of two classes; raises ValueError[evaluate.task] of others, which `what` is not for.
  ScoredRows view(const char* what = "this") const;
  AnyRows any() const;
  // Raises as assess_any() does.
  Assessment assess(const std::vector<std::vector<const CategoryColumn*>>& slicings,
                    const AssessmentOptions& options) const;
};

// Rows without a label are left out, and warned of; without --score the labels are the scores. Raises
// ValueError with the file and the line: csv.column, those of positive_class(); positive.differs where gates
// alone, or a model, count from the other class than scores of a known pair of labels; scores.label for a
// label of more than two, or where nothing says which of the two is positive, whatever `where` leaves of the
// rows, or of a regression for one that is no number; scores.score for one that is no probability, or no
// number, or where those of several classes do not add up to 1; those of rank_by(); scores.classes for
// columns that are of no class; scores.weight for one that is negative or no number.
ScoredTable read_scores(const std::string& path, const TableReading& reading, const ScoredColumns& flags,
                        const MissingWords& missing, const Messages& messages,
                        const std::optional<Expression>& where = {});

// The same of a model: what it says of these rows.
ScoredTable scored_by(const LoadedTableModel& saved, const CsvTable& table, std::vector<int64_t> rows,
                      const Predictions& predictions, const Tensor& labels);

struct ScoringOptions {
  bool strip_label_dots = false;
  std::string query = {};                // of rank_by()
  bool all_rows = false;                 // of rows_to_evaluate()
  std::optional<Expression> where = {};  // of these rows
  // By label the class that a schema calls favourable, the class of --positive, and what gates say of a
  // label.
  std::map<std::string, std::string> favourable = {};
  std::string positive = {};
  std::function<std::string(const std::string& label)> gates = {};
  // Of a model's label, what these name.
  PositiveSaid said(const std::string& label) const;
};
// The same rows of the table at `data` as another model scores them, of two classes the one that is positive
// now; a warning says how many of them it was trained on. `threshold` counts more than the model's. Raises
// ValueError: baseline.model for a model of another label, task or other classes; positive.differs where it
// counts from the other class and no flag or schema says which is meant, positive.threshold where its
// threshold does.
ScoredTable score_again(const std::string& model, const ScoredTable& now, const std::string& data,
                        const ScoringOptions& options, const std::optional<double>& threshold,
                        const Messages& messages);
// The rows_to_evaluate() of the table at `data`, as the model at `model` scores them.
ScoredTable score_table(const std::string& model, const std::string& data, const TableReading& reading,
                        const ScoringOptions& options, const Messages& messages);

}  // namespace espalier
