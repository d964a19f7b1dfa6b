#include "validate/row_times.h"

#include <limits>

#include "data/column_guess.h"

namespace espalier {

std::optional<TimeForm> time_form(const std::string& name, const ColumnProfile& profile) {
  if (const auto style = date_style(name, profile)) return TimeForm{.dates = style};
  if (const auto style = date_style("time", profile)) return TimeForm{.dates = style};
  const FormCount numbers = number_form(profile);
  if (!nearly_all(numbers.cells, profile.present())) return std::nullopt;
  return TimeForm{.numbers = numbers.form};
}

RowTimes row_times(const std::string& what, const ColumnProfile& profile, const TimeForm& form) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  RowTimes out{.form = form};
  std::vector<double> of_value;
  if (form.dates) {
    out.instants = instants_of(what, profile, *form.dates);
    of_value = out.instants.of_value;
  } else {
    for (const ColumnProfile::Value& value : profile.values)
      of_value.push_back(read_number(value.text, form.numbers).value_or(kNone));
  }
  out.of_row = profile.each_row(of_value, kNone);
  return out;
}

}  // namespace espalier
