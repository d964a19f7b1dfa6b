#include "evaluate/stability.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier {
namespace {

double rows_of(std::span<const int64_t> counts) {
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
}

}  // namespace

double stability_index(std::span<const int64_t> a, std::span<const int64_t> b) {
  const double of_a = rows_of(a), of_b = rows_of(b);
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0 && b[i] == 0) continue;
    const double p = std::max(static_cast<double>(a[i]), 0.5) / of_a,
                 q = std::max(static_cast<double>(b[i]), 0.5) / of_b;
    out += (q - p) * std::log(q / p);
  }
  return out;
}

std::optional<Interval> stability_interval(std::span<const int64_t> a, std::span<const int64_t> b) {
  constexpr int64_t kLeast = 5;
  if (a.size() < 2) return std::nullopt;
  const double n = rows_of(a), m = rows_of(b);
  // Of what a small change of a share changes the index by: its mean and mean square, by either law.
  double mean_a = 0, square_a = 0, mean_b = 0, square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::min(a[i], b[i]) < kLeast) return std::nullopt;
    const double p = static_cast<double>(a[i]) / n, q = static_cast<double>(b[i]) / m;
    const double by_p = 1 - std::log(q / p) - q / p, by_q = 1 + std::log(q / p) - p / q;
    mean_a += p * by_p;
    square_a += p * by_p * by_p;
    mean_b += q * by_q;
    square_b += q * by_q * by_q;
  }
  const double index = stability_index(a, b), scale = 1 / (1 / n + 1 / m);
  const auto degrees = static_cast<double>(a.size() - 1);
  const double variance = (square_a - mean_a * mean_a) / n + (square_b - mean_b * mean_b) / m;
  // In units of 1/n + 1/m: (excess - true)^2 = z^2 (2 degrees + slope true).
  const double slope = index > 0 ? variance * scale / index : 4;
  const double excess = index * scale - degrees, square = normal_width(kLevel) * normal_width(kLevel);
  const double middle = excess + square * slope / 2;
  const double width = std::sqrt(std::max(0.0, middle * middle - excess * excess + 2 * square * degrees));
  return Interval{std::max(0.0, (middle - width) / scale), std::max(index, (middle + width) / scale)};
}

}  // namespace espalier
