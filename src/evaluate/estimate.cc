#include "evaluate/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/student.h"

namespace espalier {
namespace {

// Student's law of so many degrees is the normal one to three digits.
constexpr double kNearlyNormal = 1000;

int64_t whole_degrees(double degrees) { return std::max<int64_t>(1, static_cast<int64_t>(degrees)); }

Interval around(double value, double variance, double degrees, double level) {
  const double width =
      degrees < kNearlyNormal ? student_width(level, whole_degrees(degrees)) : normal_width(level);
  const double half = width * std::sqrt(variance);
  return {value - half, value + half};
}

// Of a - b. REQUIRES: both have a variance.
double welch_degrees(const Estimate& a, const Estimate& b) {
  const double sum = *a.variance + *b.variance;
  return sum * sum /
         (*a.variance * *a.variance / (a.effective_rows - 1) +
          *b.variance * *b.variance / (b.effective_rows - 1));
}

// How often a number of Student's law lies as far from 0 as t, on either side.
double both_sides(double t, double degrees) {
  return degrees < kNearlyNormal ? student_p(t, whole_degrees(degrees)) : std::erfc(t / std::numbers::sqrt2);
}

}  // namespace

std::optional<double> linear_variance(double squares, const Tally& rows) {
  const double n = rows.effective_rows();
  if (!(n > 1) || squares == 0) return std::nullopt;
  return squares / (rows.weight * rows.weight) * n / (n - 1);
}

std::optional<Interval> interval(const Estimate& estimate, double level) {
  if (!estimate.value) return std::nullopt;
  if (estimate.method != IntervalMethod::kClosedForm)
    return resampled_interval(*estimate.value, estimate.replicates, estimate.method, level);
  if (estimate.share) return wilson({*estimate.value, estimate.effective_rows}, level);
  if (!estimate.variance) return std::nullopt;
  return around(*estimate.value, *estimate.variance, estimate.effective_rows - 1, level);
}

std::optional<Interval> interval(const Estimate& a, const Estimate& b, double level) {
  if (!a.value || !b.value) return std::nullopt;
  if (a.method != IntervalMethod::kClosedForm) {
    if (a.replicates.size() != b.replicates.size()) return std::nullopt;
    std::vector<double> differences;
    for (size_t i = 0; i < a.replicates.size(); ++i) differences.push_back(a.replicates[i] - b.replicates[i]);
    return resampled_interval(*a.value - *b.value, differences, a.method, level);
  }
  if (a.share && b.share) return newcombe({*a.value, a.effective_rows}, {*b.value, b.effective_rows}, level);
  if (!a.variance || !b.variance) return std::nullopt;
  return around(*a.value - *b.value, *a.variance + *b.variance, welch_degrees(a, b), level);
}

double chance_of_zero(const Estimate& estimate) {
  if (!estimate.value || *estimate.value == 0 || !(estimate.effective_rows > 1)) return 1;
  if (!estimate.variance) return 0;
  return both_sides(std::abs(*estimate.value) / std::sqrt(*estimate.variance), estimate.effective_rows - 1);
}

std::optional<double> chance_of_more(const Estimate& a, const Estimate& b) {
  if (!a.value || !b.value || !a.variance || !b.variance) return std::nullopt;
  const double t = (*a.value - *b.value) / std::sqrt(*a.variance + *b.variance);
  const double half = both_sides(std::abs(t), welch_degrees(a, b)) / 2;
  return t > 0 ? half : 1 - half;
}

}  // namespace espalier
