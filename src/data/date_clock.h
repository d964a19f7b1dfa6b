// By which clock the dates of a column are learned.
#pragma once

#include <string>

#include "data/column_profile.h"

namespace espalier {

struct DateClock {
  double offset = SeenRange::kAny;  // as DateStep::offset
  std::string text = {};            // of the column's note: ", by UTC, as offsets from it differ"
  std::string hint = {};            // what is worth a look
};
// Dates of several offsets from UTC are instants, told by UTC. Those of one offset keep it, and those of one
// place that has summer time keep its clock: two offsets, an hour apart, that change twice a year. Where some
// have an offset and others none, each is told by its own clock, with a hint where the offsets differ.
DateClock clock_of(const ColumnProfile& profile, DateStyle style);

}  // namespace espalier
