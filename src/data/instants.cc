#include "data/instants.h"

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/format.h"

namespace espalier {

Instants instants_of(const std::string& what, const ColumnProfile& profile, DateStyle style) {
  Instants out;
  int64_t row_with = -1, row_without = -1;
  for (const ColumnProfile::Value& value : profile.values) {
    const std::optional<Moment> moment = read_date(value.text, style);
    out.of_value.push_back(moment ? moment->instant() : std::numeric_limits<double>::quiet_NaN());
    if (!moment) continue;
    int64_t& row = moment->offset ? row_with : row_without;
    if (moment->offset && row_with >= 0) out.same_offset = out.same_offset && *moment->offset == out.offset;
    if (moment->offset && row_with < 0) out.offset = *moment->offset;
    if (row < 0) row = value.row;
  }
  const auto place = [&](int64_t row) { return cat("line ", profile.table->line(row), " of ", what); };
  if (row_with >= 0) out.with = place(row_with);
  if (row_without >= 0) out.without = place(row_without);
  return out;
}

void check_offsets(std::initializer_list<const Instants*> all) {
  const Instants *with = nullptr, *without = nullptr;
  for (const Instants* instants : all) {
    if (!with && !instants->with.empty()) with = instants;
    if (!without && !instants->without.empty()) without = instants;
  }
  if (!with || !without) return;
  throw ValueError("dates.offsets",
                   cat(with->with, " has the offset ", offset_text(with->offset), " from UTC, and ",
                       without->without, " has none: which of them came first is not known"));
}

std::string offset_text(int64_t seconds) {
  const int minutes = static_cast<int>(std::abs(seconds) / 60);
  char text[16];
  std::snprintf(text, sizeof text, "%c%02d:%02d", seconds < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
  return text;
}

}  // namespace espalier
