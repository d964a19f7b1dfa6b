#include "evaluate/student.h"

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

}  // namespace

double student_width(double level, int64_t degrees) {
  if (degrees < 1)
    throw ValueError("evaluate.level", cat("Student's t has a degree of freedom or more, got ", degrees));
  // It is the wider of the two laws.
  const double root = std::sqrt(static_cast<double>(degrees));
  double low = std::atan(normal_width(level) / root), high = std::numbers::pi / 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (within(middle, degrees) < level ? low : high) = middle;
  }
  return root * std::tan((low + high) / 2);
}

}  // namespace espalier
