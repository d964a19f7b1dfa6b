// Metrics that are means over rows of what each score and label say.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"

namespace espalier {

// Weighted sums over rows.
struct ScoreSums {
  Tally rows;
  double scores = 0, labels = 0;
  double squared_errors = 0;
  double log_losses = 0;

  // REQUIRES: a score in [0, 1]; `loss` is its log_loss().
  void add(double score, bool positive, double weight, double loss) {
    const double label = positive;
    rows.add(weight);
    scores += weight * score;
    labels += weight * label;
    squared_errors += weight * (score - label) * (score - label);
    log_losses += weight * loss;
  }
  ScoreSums& operator+=(const ScoreSums& other);
};
// -log of the probability of the label, which is kept 2^-52 from 0 and 1, as scikit-learn's log_loss() keeps
// doubles: a sure mistake costs 36.04. (Keras's losses of training keep probabilities 1e-7 from them: 16.12.)
double log_loss(double score, bool positive);
// Of each row. Raises ValueError[evaluate.probability] for a score beyond [0, 1].
std::vector<double> log_losses(const ScoredRows& rows);
// Of each slice, which are of the same rows. Scores are probabilities. `losses`: log_losses() of the rows,
// for those who need them more than once. Raises as these.
std::vector<ScoreSums> score_sums(const ScoredRows& rows, const Slicing& slicing);
std::vector<ScoreSums> score_sums(const ScoredRows& rows, const Slicing& slicing,
                                  std::span<const double> losses);

struct ScoreMean {
  std::string_view name;
  double (*part)(const ScoreSums&);
  double (*whole)(const ScoreSums&);
  std::string_view formula;

  // None where it is 0 / 0 or divides by 0.
  std::optional<double> operator()(const ScoreSums& sums) const;
};
// log_loss, brier_score, mean_prediction, mean_label, calibration.
const std::vector<ScoreMean>& score_means();
// By name. Raises ValueError[evaluate.metric], with the nearest names.
const ScoreMean& score_mean(std::string_view name);

}  // namespace espalier
