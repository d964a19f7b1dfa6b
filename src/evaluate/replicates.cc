#include "evaluate/replicates.h"

#include <cmath>

#include "base/format.h"
#include "evaluate/jackknife.h"
#include "evaluate/student.h"

namespace espalier {

std::string text_of(const Resampling& resampling) {
  switch (resampling.method) {
    case IntervalMethod::kBootstrap:
      return cat("Poisson bootstrap, ", resampling.replicates, " replicates, seed ", resampling.seed);
    case IntervalMethod::kJackknife:
      return cat("jackknife, ", kJackknifeBuckets, " buckets, seed ", resampling.seed);
    case IntervalMethod::kClosedForm:
      break;
  }
  return "closed forms";
}

Replicate replicate_of(std::span<const ScoreCell> cells, size_t thresholds, std::span<const double> weights,
                       size_t lane, size_t lanes) {
  Replicate out;
  std::vector<LabelTallies> by_passed(thresholds + 1);
  std::array<double, 2> below = {};
  double ordered = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const ScoreCell& cell = cells[i];
    const std::array<double, 2> drawn = {weights[2 * i * lanes + lane], weights[(2 * i + 1) * lanes + lane]};
    for (const size_t label : {0, 1}) {
      const ScoreSums& of_label = cell.of[label];
      if (of_label.rows.weight == 0) continue;
      by_passed[cell.passed][label].weight += drawn[label];
      const double scale = drawn[label] / of_label.rows.weight;
      out.sums.scores += scale * of_label.scores;
      out.sums.squared_errors += scale * of_label.squared_errors;
      out.sums.log_losses += scale * of_label.log_losses;
    }
    ordered += drawn[1] * (below[0] + drawn[0] * cell.ordered);
    for (const size_t label : {0, 1}) below[label] += drawn[label];
  }
  out.sums.rows.weight = below[0] + below[1];
  out.sums.labels = below[1];
  out.at = confusions(by_passed);
  if (below[0] > 0 && below[1] > 0) out.auc = ordered / below[0] / below[1];
  return out;
}

std::optional<Interval> resampled_interval(double value, std::span<const double> replicates,
                                           IntervalMethod method, double level) {
  if (replicates.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(replicates.size());
  // A pseudo-value lies count - 1 times as far from the mean of all as its replicate does.
  const double factor = method == IntervalMethod::kJackknife ? (count - 1) / std::sqrt(count) : 1;
  double mean = 0, squares = 0;
  for (const double one : replicates) mean += (one - value) / count;
  for (const double one : replicates) squares += (one - value - mean) * (one - value - mean);
  const double half = student_width(level, static_cast<int64_t>(replicates.size()) - 1) * factor *
                      std::sqrt(squares / (count - 1));
  return Interval{value + mean - half, value + mean + half};
}

}  // namespace espalier
