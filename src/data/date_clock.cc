#include "data/date_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/format.h"
#include "data/instants.h"

namespace espalier {
namespace {

// Whether the dates are told by the clock of one place that has summer time.
bool has_summer_time(const ColumnProfile& profile, DateStyle style) {
  constexpr int64_t kHour = 3600, kYear = 365 * 24 * kHour;
  std::vector<std::pair<double, int64_t>> offsets;  // by instant
  for (const ColumnProfile::Value& value : profile.values) {
    if (const std::optional<Moment> moment = read_date(value.text, style); moment && moment->offset)
      offsets.emplace_back(moment->instant(), *moment->offset);
  }
  std::ranges::sort(offsets);
  int64_t changes = 0;
  for (size_t i = 1; i < offsets.size(); ++i) {
    const int64_t step = std::abs(offsets[i].second - offsets[i - 1].second);
    if (step != 0 && step != kHour) return false;
    changes += step != 0;
  }
  const auto [least, most] = std::ranges::minmax(offsets, {}, [](const auto& each) { return each.second; });
  if (most.second - least.second != kHour) return false;
  const double years = (offsets.back().first - offsets.front().first) / static_cast<double>(kYear);
  // Of few rows changes say nothing.
  return static_cast<double>(changes) <= 2 * years + 1 && 4 * changes <= std::ssize(offsets);
}

}  // namespace

std::optional<Moment> DateStep::moment_of(std::string_view text) const {
  std::optional<Moment> out = read_date(text, style);
  if (!out || !out->offset || !std::isfinite(offset)) return out;
  constexpr int64_t kDaySeconds = 24 * 60 * 60;
  const auto clock = static_cast<int64_t>(offset);
  const int64_t seconds = out->seconds + clock - *out->offset;
  const int64_t days = (seconds >= 0 ? seconds : seconds - kDaySeconds + 1) / kDaySeconds;
  out->days += days;
  out->seconds = seconds - days * kDaySeconds;
  out->offset = clock;
  return out;
}

DateClock clock_of(const ColumnProfile& profile, DateStyle style) {
  if (style == DateStyle::kSeconds || style == DateStyle::kMilliseconds) return {};
  const Instants instants = instants_of("the column", profile, style);
  if (instants.with.empty()) return {};
  if (instants.same_offset) return {.offset = static_cast<double>(instants.offset)};
  if (has_summer_time(profile, style)) return {.text = ", by the clock of a place that has summer time"};
  if (instants.without.empty()) return {.offset = 0, .text = ", by UTC, as offsets from it differ"};
  return {.hint =
              cat("offsets from UTC differ, the first in ", instants.with, ", and there is none in ",
                  instants.without, ": each time is taken by its own clock, which is not the order of time")};
}

}  // namespace espalier
