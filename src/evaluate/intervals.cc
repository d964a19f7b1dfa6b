#include "evaluate/intervals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {

double normal_width(double level) {
  if (!(level > 0 && level < 1))
    throw ValueError("evaluate.level", cat("a level lies between 0 and 1, got ", shortest(level)));
  // Newton's steps from 0 never pass the root, since the tail is convex.
  const double tail = (1 - level) / 2;
  double width = 0;
  for (double step = 1; step > 1e-15 * width;) {
    const double density = std::exp(-width * width / 2) / std::sqrt(2 * std::numbers::pi);
    step = (std::erfc(width / std::numbers::sqrt2) / 2 - tail) / density;
    width += step;
  }
  return width;
}

Interval wilson(const Proportion& p, double level) {
  const double z = normal_width(level), n = p.rows;
  const double middle = p.share + z * z / (2 * n), scale = 1 + z * z / n;
  const double half = z * std::sqrt(p.share * (1 - p.share) / n + z * z / (4 * n * n));
  // At 0 and 1 one end is the share itself, but for rounding.
  return {p.share == 0 ? 0 : std::max(0.0, (middle - half) / scale),
          p.share == 1 ? 1 : std::min(1.0, (middle + half) / scale)};
}

Interval newcombe(const Proportion& a, const Proportion& b, double level) {
  const Interval of_a = wilson(a, level), of_b = wilson(b, level);
  const double difference = a.share - b.share;
  return {difference - std::hypot(a.share - of_a.low, of_b.high - b.share),
          difference + std::hypot(of_a.high - a.share, b.share - of_b.low)};
}

Interval linear_interval(std::span<const ShareTerm> terms, double level) {
  double sum = 0, below = 0, above = 0;
  for (const auto& [factor, share] : terms) {
    const Interval of = wilson(share, level);
    const double down = factor * (share.share - of.low), up = factor * (of.high - share.share);
    sum += factor * share.share;
    below += factor > 0 ? down * down : up * up;
    above += factor > 0 ? up * up : down * down;
  }
  return {sum - std::sqrt(below), sum + std::sqrt(above)};
}

Interval difference_interval(const Estimated& a, const Estimated& b) {
  const double difference = a.value - b.value;
  return {difference - std::hypot(a.value - a.interval.low, b.interval.high - b.value),
          difference + std::hypot(a.interval.high - a.value, b.value - b.interval.low)};
}

std::optional<Interval> ratio_interval(const Estimated& a, const Estimated& b) {
  if (!(b.interval.low > 0)) return std::nullopt;
  const auto part = [](double value, double limit) { return limit * (2 * value - limit); };
  const double product = a.value * b.value;
  const auto root = [&](double of_a, double of_b) {
    return std::sqrt(std::max(0.0, product * product - of_a * of_b));
  };
  const double low_a = part(a.value, a.interval.low), high_a = part(a.value, a.interval.high);
  const double low_b = part(b.value, b.interval.low), high_b = part(b.value, b.interval.high);
  return Interval{a.interval.low > 0 ? low_a / (product + root(low_a, high_b)) : 0,
                  (product + root(high_a, low_b)) / low_b};
}

namespace {

std::optional<Interval> about_auc(double value, double variance, double least, double level) {
  const double half = normal_width(level) * std::sqrt(variance);
  return Interval{std::max(least, value - half), std::min(1.0, value + half)};
}

}  // namespace

std::optional<Interval> delong(const Auc& auc, double level) {
  if (!auc.variance) return std::nullopt;
  return about_auc(auc.area, *auc.variance, 0, level);
}

std::optional<Interval> delong(const Auc& a, const Auc& b, double level) {
  if (!a.variance || !b.variance) return std::nullopt;
  return about_auc(a.area - b.area, *a.variance + *b.variance, -1, level);
}

}  // namespace espalier
