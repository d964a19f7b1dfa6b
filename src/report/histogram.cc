#include "report/histogram.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"

namespace espalier {
namespace {

constexpr int kChartWide = 200, kChartHigh = 20;

// Steps from the axis, `direction` -1 upwards.
Html bars(std::span<const double> weights, int direction, const char* style) {
  if (weights.empty()) return {};
  const double most = std::ranges::max(weights);
  if (!(most > 0)) return {};
  std::string path = cat("M0 ", kChartHigh);
  int before = 0;
  const auto edge = [&](size_t i) {
    return static_cast<int>(i) * kChartWide / static_cast<int>(weights.size());
  };
  for (size_t i = 0; i < weights.size(); ++i) {
    int height = static_cast<int>(std::lround(kChartHigh * weights[i] / most));
    if (weights[i] > 0) height = std::max(height, 1);
    if (height != before) path += cat("H", edge(i), "V", kChartHigh + direction * height);
    before = height;
  }
  return element("path", {{"d", cat(path, "H", kChartWide, "V", kChartHigh, "Z")}, {"class", style}});
}

}  // namespace

Html mirrored_histogram(std::span<const double> above, std::span<const double> below,
                        std::span<const double> marks) {
  Html lines;
  for (const double mark : marks)
    lines += element(
        "path", {{"d", cat("M", std::lround(kChartWide * mark), " 0V", 2 * kChartHigh)}, {"class", "mark"}});
  return element("svg",
                 {{"class", "histogram"},
                  {"viewBox", cat("0 0 ", kChartWide, " ", 2 * kChartHigh)},
                  {"preserveAspectRatio", "none"},
                  {"aria-hidden", "true"}},
                 bars(above, -1, "positives") + bars(below, 1, "negatives") + lines +
                     element("path", {{"d", cat("M0 ", kChartHigh, "H", kChartWide)}, {"class", "axis"}}) +
                     element("path", {{"d", cat("M0 0V", 2 * kChartHigh)}, {"class", "threshold"}}));
}

}  // namespace espalier
