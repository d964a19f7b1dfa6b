// Dates in the order of time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "data/column_profile.h"

namespace espalier {

// What a column of dates says of when.
struct Instants {
  std::vector<double> of_value =
      {};  // Moment::instant() of each value of the profile; NaN of what is no date
  // The first cell that has an offset from UTC, and the first that has none; empty without one.
  std::string with = {}, without = {};  // "line 2 of column \"at\""
  int64_t offset = 0;                   // of the first that has one,
  bool same_offset = true;              // and whether it is that of all
};
// `what` they are of: "column \"at\"".
Instants instants_of(const std::string& what, const ColumnProfile& profile, DateStyle style);

// Raises ValueError[dates.offsets] where some dates of these have an offset from UTC and others none: which
// of them came first is then not known. Unix times have that of UTC.
void check_offsets(std::initializer_list<const Instants*> all);

// "+02:00".
std::string offset_text(int64_t seconds);

}  // namespace espalier
