// What a model says of the rows of a table, and how good that is.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/messages.h"
#include "espalier/model.h"
#include "report/terminal.h"
#include "tables/loaded_table_model.h"

namespace espalier {

// What a model says of each row.
struct Predictions {
  std::vector<float> outputs;  // of a classification: probabilities [rows, classes]
  std::vector<int64_t> best;   // the class that is said: the likeliest, or by a threshold
  std::vector<double> values;  // of a regression, in the label's unit, within the training rows' labels
  std::vector<bool> cut;       // whether each of them lay beyond those
  int64_t positive = 1;        // of two classes the one that others count from: the decision's, if it has one
  int64_t cuts() const { return std::ranges::count(cut, true); }
};
Predictions predict_rows(Model& model, const ColumnProgram& columns, const Tensor& inputs,
                         const Decision& decision = {}, const Messages& messages = {});
// What a model says of rows of two classes, one of which is positive: its score and whether a row is of it.
struct TwoClasses {
  std::vector<double> scores;
  std::vector<uint8_t> labels;
  bool numbers = true;  // no score is NaN

  // `outputs`: probabilities [rows, 2].
  TwoClasses(const std::vector<float>& outputs, std::span<const int32_t> truth, int64_t positive);
};
// How columns of probabilities are called that are written, before the class.
inline constexpr std::string_view kProbabilityOf = "probability of ";
// "a row is yes from a probability of 0.3 on"; empty without a threshold.
std::string text_of(const Decision& decision, const ColumnProgram& columns);
// A line that says which of two classes is positive, and why, in bold.
std::string positive_line(const PositiveClass& positive, const std::string& label,
                          const std::vector<std::string>& classes, const Terminal& terminal);
// "positive" and "positive_because" of results, null where nothing says it.
void add_positive(nlohmann::ordered_json& body, const PositiveClass& positive);
// What to warn of when `cut` of `rows` predictions are.
std::vector<std::string> cut_warning(int64_t cut, const ColumnProgram& columns, int64_t rows);

// How good predictions of one class are; -1 for the share of none.
struct ClassFigures {
  int64_t rows = 0;
  double precision = -1;  // of the rows said to be of the class
  double recall = -1;     // of the rows that are of the class
  double f1 = -1;         // 2 * right / (rows said to be + rows that are)
};

// How good predictions are.
struct Scores {
  int64_t rows = 0;
  // Of a classification.
  double accuracy = 0, base_rate = 0, log_loss = 0;  // base_rate: always saying the commonest class
  double auc = -1;                                   // -1: not two classes, or one of them is absent
  std::vector<int64_t> counts = {};                  // [true * classes + predicted]
  std::vector<ClassFigures> of_class = {};
  // Of a regression.
  std::optional<double> r2 = {};              // none where it is undefined
  double mae = 0, rmse = 0, mae_of_mean = 0;  // mae_of_mean: always saying the mean
  double median_error = 0;                    // of the absolute errors
  int64_t half_error_rows = 0;                // the fewest that carry half of the squared error
};
Scores score(const ColumnProgram& columns, const Predictions& predictions, const Tensor& labels);

// The threshold at which the F1 of one of two classes is largest on rows with these labels: of all that are
// as good the one with the fewest digits. No F1, -1, where no row is of the class or a probability is NaN.
struct BestThreshold {
  double threshold = 0.5, f1 = -1;
};
BestThreshold best_threshold(const Predictions& predictions, const Tensor& labels, int64_t positive);
// A line for people when it gives the class of these scores a much larger F1: "f1 of yes is 0.1, and 0.4 with
// --threshold 0.3, which `how`".
std::string better_text(const ColumnProgram& columns, int64_t positive, const Scores& now,
                        const BestThreshold& better, const char* how);

// A number for people: four digits that matter.
std::string rounded(double value);

// For people: metrics, and the table of mistakes.
std::string report_of(const Scores& scores, const ColumnProgram& columns, const Terminal& terminal);
// The same fields as JSON.
nlohmann::ordered_json json_of(const Scores& scores, const ColumnProgram& columns);

}  // namespace espalier
