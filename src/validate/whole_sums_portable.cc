#include "validate/whole_sums.h"

namespace espalier {

WholeSums add_whole_portable(const double* values, size_t count, double unit, double units, double* others) {
  constexpr uint64_t kLow = (uint64_t{1} << WholeSums::kHalf) - 1;
  WholeSums out;
  for (size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<int64_t>(values[i] * units);
    if (static_cast<double>(whole) * unit != values[i]) {
      others[out.others++] = values[i];
      continue;
    }
    out.sum += whole;
    const auto size = static_cast<uint64_t>(whole < 0 ? -whole : whole);
    const uint64_t high = size >> WholeSums::kHalf, low = size & kLow;
    out.high += high * high;
    out.cross += high * low;
    out.low += low * low;
  }
  return out;
}

std::pair<double, double> range_of_portable(const double* values, size_t count) {
  // Each lane waits for itself alone.
  constexpr size_t kLanes = 4;
  double low[kLanes], high[kLanes];
  std::fill_n(low, kLanes, values[0]);
  std::fill_n(high, kLanes, values[0]);
  const auto take = [&](size_t lane, double value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  for (; i < count; ++i) take(0, values[i]);
  return {*std::min_element(low, low + kLanes), *std::max_element(high, high + kLanes)};
}

}  // namespace espalier
