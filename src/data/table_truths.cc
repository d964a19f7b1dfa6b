#include "data/table_truths.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/format.h"
#include "data/column_guess.h"

namespace espalier {
namespace {

// Of each row what `read` makes of its cell, `none` for one without a value.
template <class T, class Read>
std::vector<T> read_rows(const ColumnProfile& profile, const T& none, Read read) {
  std::vector<T> of_value, out;
  for (const ColumnProfile::Value& value : profile.values) of_value.push_back(read(value.text));
  out.reserve(profile.codes.size());
  for (const uint32_t code : profile.codes)
    out.push_back(code == ColumnProfile::kMissing ? none : of_value[code]);
  return out;
}

// Of a column most of whose cells are amounts in one form; of plain numbers expressions know by themselves.
std::optional<CellMeanings::Amounts> amounts_of(const ColumnProfile& profile) {
  const FormCount numbers = number_form(profile);
  if (2 * numbers.cells <= profile.present()) return std::nullopt;
  const NumberForm& form = numbers.form;
  if (form.unit.empty() && form.style == NumberStyle::kPlain) return std::nullopt;
  const double none = std::numeric_limits<double>::quiet_NaN();
  CellMeanings::Amounts out{.of = read_rows(profile, none, [&](std::string_view text) {
                              return read_number(text, form).value_or(none);
                            })};
  for (size_t row = 0; row < out.of.size() && out.first_other < 0; ++row) {
    if (profile.codes[row] != ColumnProfile::kMissing && std::isnan(out.of[row]))
      out.first_other = static_cast<int64_t>(row);
  }
  return out;
}

std::string time_text(const Moment& moment) {
  std::string out = date_text(moment.days);
  if (moment.seconds == 0) return out;
  char text[32];
  std::snprintf(text, sizeof text, "T%02d:%02d:%02d", static_cast<int>(moment.seconds / 3600),
                static_cast<int>(moment.seconds / 60 % 60), static_cast<int>(moment.seconds % 60));
  return out + text;
}

std::optional<CellMeanings::Dates> dates_of(const std::string& name, const ColumnProfile& profile) {
  const auto all_are = [&](DateStyle style) {
    return profile.count([&](std::string_view text) { return read_date(text, style).has_value(); }) ==
           profile.present();
  };
  if (profile.present() == 0 || all_are(DateStyle::kIso)) return std::nullopt;
  const bool day_first = all_are(DateStyle::kDayFirst), month_first = all_are(DateStyle::kMonthFirst);
  if (!day_first && !month_first) return std::nullopt;
  const bool points = profile.values[0].text.find('.') < profile.values[0].text.find_first_of("/-");
  if (day_first && month_first && !points)
    throw ValueError("expression.date",
                     cat("no day of column \"", name,
                         "\" is above 12, so that its dates may begin with the day or with the month"),
                     "dates that begin with the year, 2022-02-03, leave no doubt");
  const DateStyle style = day_first ? DateStyle::kDayFirst : DateStyle::kMonthFirst;
  return read_rows(profile, std::string(),
                   [&](std::string_view text) { return time_text(*read_date(text, style)); });
}

}  // namespace

std::optional<CellMeanings::Amounts> table_amounts(const CsvTable& table, int64_t column,
                                                   const MissingWords& missing_words) {
  return amounts_of(profile_column(table, all_rows(table), column, missing_words));
}

std::vector<Truth> table_truths(const Expression& condition, const CsvTable& table,
                                const MissingWords& missing_words) {
  const std::vector<int64_t> rows = all_rows(table);
  const auto profile = [&](int64_t column) { return profile_column(table, rows, column, missing_words); };
  return truths(condition, table,
                [&](std::string_view cell, const std::string& column) {
                  return missing_words.of(column).contains(cell);
                },
                {},
                {.amounts = [&](int64_t column) { return amounts_of(profile(column)); },
                 .dates =
                     [&](int64_t column) {
                       return dates_of(table.names()[static_cast<size_t>(column)], profile(column));
                     }});
}

KeptRows keep_rows(const Expression& condition, const CsvTable& table, std::vector<int64_t>& rows,
                   const MissingWords& missing_words) {
  KeptRows out{.condition = condition.canonical(), .of = std::ssize(rows)};
  const std::vector<Truth> all = table_truths(condition, table, missing_words);
  std::erase_if(rows, [&](int64_t row) {
    const Truth truth = all[static_cast<size_t>(row)];
    out.missing += truth == Truth::kMissing;
    return truth != Truth::kTrue;
  });
  out.kept = std::ssize(rows);
  if (rows.empty()) {
    throw ValueError("where.rows", cat("no row is left: ", out.condition, " is false of ",
                                       out.of - out.missing, " rows and missing of ", out.missing));
  }
  return out;
}

}  // namespace espalier
