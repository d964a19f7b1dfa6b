#include "train/latest_worker.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace espalier {

std::string latest_worker(std::span<const double> late, double seconds) {
  constexpr double kShown = 0.05;
  const auto latest = std::ranges::max_element(late);
  if (latest == late.end() || !(*latest >= kShown * seconds)) return {};
  const double percent = seconds > 0 ? std::min(100.0, 100 * *latest / seconds) : 100;
  return cat("rank ", latest - late.begin(), " late ", std::lround(percent), " %");
}

}  // namespace espalier
