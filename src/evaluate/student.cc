#include "evaluate/student.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "espalier/error.h"
#include "evaluate/intervals.h"

namespace espalier {
namespace {

// The chance of |t| <= sqrt(degrees) tan(angle): Abramowitz and Stegun, 26.7.3 and 26.7.4.
double within(double angle, int64_t degrees) {
  const double sine = std::sin(angle), square = std::cos(angle) * std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::cos(angle) : 1, sum = degrees == 1 ? 0 : term;
  for (int64_t i = odd ? 3 : 2; i <= degrees - 2; i += 2) {
    term *= square * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  return odd ? (angle + sine * sum) * 2 / std::numbers::pi : sine * sum;
}

void check_degrees(int64_t degrees) {
  if (degrees < 1)
    throw ValueError("evaluate.level", cat("Student's t has a degree of freedom or more, got ", degrees));
}

}  // namespace

double student_p(double t, int64_t degrees) {
  check_degrees(degrees);
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(degrees)));
  return std::max(0.0, 1 - within(angle, degrees));
}

double student_width(double level, int64_t degrees) {
  check_degrees(degrees);
  // It is the wider of the two laws, and the chance is concave in the angle: Newton's steps from there come
  // nearer from below.
  const auto n = static_cast<double>(degrees);
  const double root = std::sqrt(n);
  const double log_scale =
      std::log(2 / std::sqrt(std::numbers::pi)) + std::lgamma((n + 1) / 2) - std::lgamma(n / 2);
  double angle = std::atan(normal_width(level) / root);
  for (int step = 0; step < 60; ++step) {
    const double slope = std::exp(log_scale + (n - 1) * std::log(std::cos(angle)));
    const double next = angle + (level - within(angle, degrees)) / slope;
    if (!(next > angle) || next >= std::numbers::pi / 2) break;
    angle = next;
  }
  return root * std::tan(angle);
}

}  // namespace espalier
