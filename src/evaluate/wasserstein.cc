#include "evaluate/wasserstein.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/philox.h"
#include "evaluate/sample_walk.h"

namespace espalier {
namespace {

struct GridPoint {
  double value, of_a, of_b;
};

// Each different value, or of those that are near to each other, by value and by share, the last.
std::vector<GridPoint> grid_of(std::span<const double> a, std::span<const double> b) {
  constexpr double kCells = 128;
  const double span = std::max(a.back(), b.back()) - std::min(a.front(), b.front());
  std::vector<GridPoint> out;
  GridPoint first = {};  // of the cell
  walk_samples(a, b, [&](double value, double, double of_a, double of_b) {
    const bool near = !out.empty() && value - first.value < span / kCells &&
                      std::max(of_a - first.of_a, of_b - first.of_b) < 1 / kCells;
    if (near) {
      out.back() = {value, of_a, of_b};
    } else {
      out.push_back(first = {value, of_a, of_b});
    }
  });
  return out;
}

double standard_normal(Philox& random) {
  const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(random.uniform())));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(random.uniform()));
}

}  // namespace

double wasserstein(std::span<const double> a, std::span<const double> b) {
  double out = 0;
  walk_samples(a, b, [&](double value, double next, double of_a, double of_b) {
    out += std::abs(of_a - of_b) * (next - value);
  });
  return out;
}

Interval wasserstein_interval(std::span<const double> a, std::span<const double> b) {
  constexpr int kDraws = 400;
  const std::vector<GridPoint> grid = grid_of(a, b);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  Philox random(0, 0x57A55);
  std::vector<double> areas, walk_a(grid.size()), walk_b(grid.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto walk = [&](std::vector<double>& into, double GridPoint::*share, double rows) {
      double at = 0, before = 0;
      for (size_t i = 0; i < grid.size(); ++i) {
        at += std::sqrt((grid[i].*share - before) / rows) * standard_normal(random);
        before = grid[i].*share;
        into[i] = at;
      }
    };
    walk(walk_a, &GridPoint::of_a, n);
    walk(walk_b, &GridPoint::of_b, m);
    double area = 0;
    for (size_t i = 0; i + 1 < grid.size(); ++i) {
      const double error =
          walk_a[i] - grid[i].of_a * walk_a.back() - walk_b[i] + grid[i].of_b * walk_b.back();
      area += std::abs(error) * (grid[i + 1].value - grid[i].value);
    }
    areas.push_back(area);
  }
  const auto bound = areas.begin() + static_cast<int64_t>(kLevel * kDraws);
  std::ranges::nth_element(areas, bound);
  const double distance = wasserstein(a, b);
  return {std::max(0.0, distance - *bound), distance + *bound};
}

}  // namespace espalier
