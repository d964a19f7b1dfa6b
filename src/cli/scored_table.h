// A file of what a model said: a label and a score in each row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/scores.h"
#include "cli/table_data.h"
#include "cli/where.h"
#include "evaluate/scored_rows.h"

namespace espalier::cli {

struct ScoredFlags {
  std::string label, score, weight, positive;

  // --label, --score, --weight, --positive.
  void add(CLI::App& verb);
};

// The rows of a table that have a label, with what a model said of them.
struct ScoredTable {
  CsvTable table;
  std::vector<int64_t> rows;  // of the table
  std::vector<double> scores, weights;
  std::vector<uint8_t> labels;
  std::string positive;               // the label of those that are
  std::string label;                  // the column
  std::optional<KeptRows> kept = {};  // what a condition made of the rows with a label

  ScoredRows view() const { return {scores, labels, weights}; }
};

// Rows without a label are left out, and warned of; without --score the labels are the scores. Raises
// ValueError with the file and the line: csv.column, scores.label for a label of more than two, of one alone,
// or where nobody knows which of the two is positive, whatever `where` leaves of the rows; scores.score for
// one that is no probability; scores.weight for one that is negative or no number.
ScoredTable read_scores(const std::string& path, const TableFlags& reading, const ScoredFlags& flags,
                        const std::vector<std::string>& missing, const Results& results,
                        const std::optional<Expression>& where = {});

// The same of a model of two classes, where the positive one is the rarer: what it says of these rows. Raises
// ValueError[evaluate.slice] for other models.
ScoredTable scored_by(const TableModel& saved, const CsvTable& table, std::vector<int64_t> rows,
                      const Predictions& predictions, const Tensor& labels);

struct ScoringOptions {
  bool strip_label_dots = false;
  bool all_rows = false;                 // of judging_rows()
  std::optional<Expression> where = {};  // of these rows
};
// The rows of the table at `data` that judge the model at `model`, as it scores them.
ScoredTable score_table(const std::string& model, const std::string& data, const TableFlags& reading,
                        const ScoringOptions& options, const Results& results);

}  // namespace espalier::cli
