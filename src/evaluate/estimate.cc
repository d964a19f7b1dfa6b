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

}  // namespace

std::optional<double> linear_variance(double squares, const Tally& rows) {
  const double n = rows.effective_rows();
  if (!(n > 1) || squares == 0) return std::nullopt;
  return squares / (rows.weight * rows.weight) * n / (n - 1);
}

std::optional<Interval> interval(const Estimate& estimate, double level) {
  if (!estimate.value) return std::nullopt;
  if (estimate.share) return wilson({*estimate.value, estimate.effective_rows}, level);
  if (!estimate.variance) return std::nullopt;
  return around(*estimate.value, *estimate.variance, estimate.effective_rows - 1, level);
}

std::optional<Interval> interval(const Estimate& a, const Estimate& b, double level) {
  if (!a.value || !b.value) return std::nullopt;
  if (a.share && b.share) return newcombe({*a.value, a.effective_rows}, {*b.value, b.effective_rows}, level);
  if (!a.variance || !b.variance) return std::nullopt;
  const double sum = *a.variance + *b.variance;
  const double degrees = sum * sum /
                         (*a.variance * *a.variance / (a.effective_rows - 1) +
                          *b.variance * *b.variance / (b.effective_rows - 1));
  return around(*a.value - *b.value, sum, degrees, level);
}

double chance_of_zero(const Estimate& estimate) {
  if (!estimate.value || *estimate.value == 0 || !(estimate.effective_rows > 1)) return 1;
  if (!estimate.variance) return 0;
  const double t = std::abs(*estimate.value) / std::sqrt(*estimate.variance),
               degrees = estimate.effective_rows - 1;
  return degrees < kNearlyNormal ? student_p(t, whole_degrees(degrees)) : std::erfc(t / std::numbers::sqrt2);
}

}  // namespace espalier
