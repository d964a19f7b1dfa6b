// What tests of estimates share.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "evaluate/estimate.h"

namespace espalier {

inline const Estimate& estimate(const Estimates& all, std::string_view metric) {
  return *std::ranges::find(all.of, metric, &Estimate::metric);
}

inline double normal_number(Philox& random) {
  const double radius = std::sqrt(-2 * std::log1p(-static_cast<double>(random.uniform())));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(random.uniform()));
}

// The sum over rows of (w d value / d w)^2, by central differences, with Bessel's correction for Kish's
// effective rows. `value` sees the weights.
template <class Value>
double variance_by_weights(std::vector<double>& weights, Value&& value) {
  constexpr double kStep = 1e-5;
  double sum = 0, weight = 0, squares = 0;
  for (double& each : weights) {
    const double before = each;
    each = before * (1 + kStep);
    const double above = value();
    each = before * (1 - kStep);
    const double below = value();
    each = before;
    const double pull = (above - below) / (2 * kStep);
    sum += pull * pull;
    weight += before;
    squares += before * before;
  }
  const double rows = weight * weight / squares;
  return sum * rows / (rows - 1);
}

}  // namespace espalier
