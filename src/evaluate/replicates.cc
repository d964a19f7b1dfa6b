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
