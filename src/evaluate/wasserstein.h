// How far the mass of one sample has to be carried to become another.
#pragma once

#include <span>

#include "evaluate/intervals.h"

namespace espalier {

// The area between two empirical distribution functions, in the unit of the values. REQUIRES: both sorted,
// neither empty.
double wasserstein(std::span<const double> a, std::span<const double> b);

// Of it, at a level of 0.95 or more: as the distance obeys the triangle inequality, it errs by no more than
// the area under the errors of both distribution functions, whose law is drawn from the Brownian bridges
// that they tend to. The same samples give the same bounds.
Interval wasserstein_interval(std::span<const double> a, std::span<const double> b);

}  // namespace espalier
