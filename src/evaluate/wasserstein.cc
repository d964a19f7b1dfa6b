#include "evaluate/wasserstein.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
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

// The first normal numbers of one stream, at least so many: drawn once for all columns.
std::shared_ptr<const std::vector<double>> normals(size_t count) {
  static std::mutex mutex;
  static std::shared_ptr<const std::vector<double>> drawn = std::make_shared<std::vector<double>>();
  const std::scoped_lock lock(mutex);
  if (drawn->size() < count) {
    auto more = std::make_shared<std::vector<double>>();
    more->reserve(2 * count);
    Philox random(0, 0x57A55);
    while (more->size() < 2 * count) more->push_back(standard_normal(random));
    drawn = std::move(more);
  }
  return drawn;
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
  const std::shared_ptr<const std::vector<double>> drawn = normals(2 * kDraws * grid.size());
  const double* next = drawn->data();
  // The deviation of each step.
  const auto steps = [&](double GridPoint::*share, double rows) {
    std::vector<double> out;
    double before = 0;
    for (const GridPoint& point : grid) {
      out.push_back(std::sqrt((point.*share - before) / rows));
      before = point.*share;
    }
    return out;
  };
  const std::vector<double> steps_a = steps(&GridPoint::of_a, n), steps_b = steps(&GridPoint::of_b, m);
  std::vector<double> areas, walk_a(grid.size()), walk_b(grid.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    double at_a = 0, at_b = 0;
    for (size_t i = 0; i < grid.size(); ++i) {
      walk_a[i] = at_a += steps_a[i] * next[i];
      walk_b[i] = at_b += steps_b[i] * next[grid.size() + i];
    }
    next += 2 * grid.size();
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
