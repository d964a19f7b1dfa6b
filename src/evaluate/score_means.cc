#include "evaluate/score_means.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/find_named.h"
#include "base/format.h"
#include "base/shortest.h"
#include "base/thread_pool.h"
#include "espalier/error.h"

namespace espalier {
namespace {

double weight(const ScoreSums& sums) { return sums.rows.weight; }
double scores(const ScoreSums& sums) { return sums.scores; }
double labels(const ScoreSums& sums) { return sums.labels; }
double squared_errors(const ScoreSums& sums) { return sums.squared_errors; }
double log_losses(const ScoreSums& sums) { return sums.log_losses; }

}  // namespace

ScoreSums& ScoreSums::operator+=(const ScoreSums& other) {
  rows += other.rows;
  scores += other.scores;
  labels += other.labels;
  squared_errors += other.squared_errors;
  log_losses += other.log_losses;
  return *this;
}

double log_loss(double score, bool positive) {
  constexpr double kLeast = std::numeric_limits<double>::epsilon();
  const double inside = std::clamp(score, kLeast, 1 - kLeast);
  return -(positive ? std::log(inside) : std::log1p(-inside));
}

std::vector<double> log_losses(const ScoredRows& rows) {
  for (size_t row = 0; row < rows.size(); ++row) {
    const double score = rows.score(row);
    if (!(score >= 0 && score <= 1)) {
      throw ValueError("evaluate.probability",
                       cat("a probability lies in [0, 1]: row ", row, " has the score ", shortest(score)));
    }
  }
  std::vector<double> out(rows.size());
  for_each_range(rows.size(), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) out[row] = log_loss(rows.score(row), rows.positive(row));
  });
  return out;
}

std::vector<ScoreSums> score_sums(const ScoredRows& rows, const Slicing& slicing) {
  return score_sums(rows, slicing, log_losses(rows));
}

std::vector<ScoreSums> score_sums(const ScoredRows& rows, const Slicing& slicing,
                                  std::span<const double> losses) {
  std::vector<ScoreSums> out(slicing.slices.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t slice = slicing.of_row[row];
    if (slice != Slicing::kNone)
      out[slice].add(rows.score(row), rows.positive(row), rows.weight(row), losses[row]);
  }
  return out;
}

const std::vector<ScoreMean>& score_means() {
  static const std::vector<ScoreMean> table{
      {"log_loss", log_losses, weight, "-sum(w (y log p + (1 - y) log(1 - p))) / sum(w)"},
      {"brier_score", squared_errors, weight, "sum(w (p - y)^2) / sum(w)"},
      {"mean_prediction", scores, weight, "sum(w p) / sum(w)"},
      {"mean_label", labels, weight, "sum(w y) / sum(w)"},
      {"calibration", scores, labels, "sum(w p) / sum(w y)"},
  };
  return table;
}

const ScoreMean& score_mean(std::string_view name) {
  return find_named("evaluate.metric", "metric", name, score_means());
}

std::optional<double> ScoreMean::operator()(const ScoreSums& sums) const {
  if (whole(sums) == 0) return std::nullopt;
  return part(sums) / whole(sums);
}

}  // namespace espalier
