// When the rows of a table are, by a column that somebody names as their time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/column_profile.h"
#include "data/instants.h"

namespace espalier {

// How the cells of such a column are read: as dates, or as times of day, amounts or numbers in their order.
struct TimeForm {
  std::optional<DateStyle> dates = {};
  NumberForm numbers = {};
};
// What nearly all cells are; nothing where they are neither. Numbers of the years 1990 to 2099 in seconds or
// milliseconds since 1970 are dates whatever the column is called.
std::optional<TimeForm> time_form(const std::string& name, const ColumnProfile& profile);

struct RowTimes {
  TimeForm form;
  Instants instants = {};           // of dates
  std::vector<double> of_row = {};  // seconds of dates and times of day, else the number; NaN where none is
};
// `what` they are of: "column \"at\"".
RowTimes row_times(const std::string& what, const ColumnProfile& profile, const TimeForm& form);

}  // namespace espalier
