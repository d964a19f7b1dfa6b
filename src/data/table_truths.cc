#include "data/table_truths.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_guess.h"
#include "data/instants.h"

namespace espalier {
namespace {

// Of each row what `read` makes of its cell, `none` for one without a value.
template <class T, class Read>
std::vector<T> read_each_row(const ColumnProfile& profile, const T& none, Read read) {
  std::vector<T> of_value;
  for (const ColumnProfile::Value& value : profile.values) of_value.push_back(read(value.text));
  return profile.each_row(of_value, none);
}

// Of a column most of whose cells are amounts in one form; of plain numbers expressions know by themselves.
std::optional<CellMeanings::Amounts> amounts_of(const ColumnProfile& profile) {
  const FormCount numbers = number_form(profile);
  if (2 * numbers.cells <= profile.present()) return std::nullopt;
  const NumberForm& form = numbers.form;
  // Of a time of day nobody knows whether 12 is an hour.
  if (form.plain() || form.style == NumberStyle::kClock) return std::nullopt;
  const double none = std::numeric_limits<double>::quiet_NaN();
  CellMeanings::Amounts out{.of = read_each_row(profile, none, [&](std::string_view text) {
                              return read_number(text, form).value_or(none);
                            })};
  for (size_t row = 0; row < out.of.size() && out.first_other < 0; ++row) {
    if (profile.codes[row] != ColumnProfile::kMissing && std::isnan(out.of[row]))
      out.first_other = static_cast<int64_t>(row);
  }
  return out;
}

// What texts are in time.
enum class TimeKind { kNone, kDates, kClock };

std::optional<Moment> literal_date(std::string_view text) {
  const std::optional<Moment> iso = read_moment(text, DateStyle::kIso);
  return iso ? iso : read_moment(text, DateStyle::kMonthName);
}
TimeKind kind_of(std::string_view text) {
  if (literal_date(text)) return TimeKind::kDates;
  return read_clock(text) ? TimeKind::kClock : TimeKind::kNone;
}
// 2024, 2024-06 and 202406: byte by byte in the order of dates that begin with the year.
bool begins_date(std::string_view text) {
  for (const char* const rest : {"0101", "-01-01", "01", "-01", "/01"}) {
    if (text.size() >= 4 && read_moment(cat(text, rest), DateStyle::kIso)) return true;
  }
  return false;
}
// Jun 2024, June-24: a month without a day.
bool is_named_month(std::string_view text) {
  const size_t name = text.find_first_of("- /.");
  return name != text.npos && (read_moment(cat("1-", text), DateStyle::kMonthName) ||
                               read_moment(cat("1 ", text), DateStyle::kMonthName));
}
const char* name_of(TimeKind kind) {
  return kind == TimeKind::kDates   ? "dates"
         : kind == TimeKind::kClock ? "times of day or durations"
                                    : "texts";
}

// A column as it is in time.
struct TimeColumn {
  std::string name;
  ColumnProfile profile;
  TimeKind kind = TimeKind::kNone;
  bool plain = false;      // dates whose texts are in the order of time
  bool ambiguous = false;  // dates that may begin with the day or with the month
  Instants instants = {};
  std::vector<double> of_row = {};  // NaN where missing
};

// `others_missing`: a column is what most of its cells are, and the others are missing.
TimeColumn time_column(const CsvTable& table, int64_t column, const MissingWords& missing,
                       bool others_missing) {
  TimeColumn out{.name = table.names()[static_cast<size_t>(column)],
                 .profile = profile_column(table, all_rows(table), column, missing)};
  const ColumnProfile& profile = out.profile;
  if (profile.present() == 0) return out;
  const auto all = [&](auto&& reads) {
    const int64_t cells = profile.count(reads);
    return others_missing ? 2 * cells > profile.present() : cells == profile.present();
  };
  const auto all_are = [&](DateStyle style) {
    return all([&](std::string_view text) { return read_date(text, style).has_value(); });
  };
  std::optional<DateStyle> style;
  if (all_are(DateStyle::kIso)) {
    style = DateStyle::kIso;
  } else if (all_are(DateStyle::kMonthName)) {
    style = DateStyle::kMonthName;
  } else {
    const bool day_first = all_are(DateStyle::kDayFirst), month_first = all_are(DateStyle::kMonthFirst);
    const bool points = profile.values[0].text.find('.') < profile.values[0].text.find_first_of("/-");
    out.ambiguous = day_first && month_first && !points;
    if (day_first || month_first) style = day_first ? DateStyle::kDayFirst : DateStyle::kMonthFirst;
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (style) {
    out.kind = TimeKind::kDates;
    out.instants = instants_of(cat("column ", column_in_message(out.name)), profile, *style);
    out.plain = style == DateStyle::kIso && out.instants.with.empty();
    out.of_row = profile.each_row(out.instants.of_value, kNone);
  } else if (all([](std::string_view text) { return read_clock(text).has_value(); })) {
    out.kind = TimeKind::kClock;
    out.of_row = read_each_row(profile, kNone,
                               [&](std::string_view text) { return read_clock(text).value_or(kNone); });
  }
  return out;
}

// The sides of comparisons of one table in time. `refused`, unless null, takes why a comparison is missing on
// all rows, which raises otherwise.
class TableTimes {
 public:
  TableTimes(const CsvTable& table, const MissingWords& missing, bool others_missing,
             std::vector<std::string>* refused)
      : table_(table), missing_(missing), others_missing_(others_missing), refused_(refused) {}

  std::optional<CellMeanings::Times> operator()(const CellMeanings::Side& a, const CellMeanings::Side& b,
                                                bool orders) {
    if (!refused_) return times(a, b, orders);
    try {
      return times(a, b, orders);
    } catch (const ValueError& error) {
      const std::string why = cat(error.message(), error.fix().empty() ? "" : "; ", error.fix());
      if (!std::ranges::count(*refused_, why)) refused_->push_back(why);
      const double none = std::numeric_limits<double>::quiet_NaN();
      const std::vector<double> all(static_cast<size_t>(std::max<int64_t>(table_.rows(), 1)), none);
      return CellMeanings::Times{all, all};
    }
  }

 private:
  std::optional<CellMeanings::Times> times(const CellMeanings::Side& a, const CellMeanings::Side& b,
                                           bool orders) {
    if (a.column < 0 && b.column < 0) return of_texts(a.text, b.text, orders);
    if (a.column < 0) {
      auto out = with_text(column(b.column), a.text, orders);
      return out ? std::optional(CellMeanings::Times{std::move(out->b), std::move(out->a)}) : std::nullopt;
    }
    return b.column < 0 ? with_text(column(a.column), b.text, orders)
                        : with_column(column(a.column), column(b.column), orders);
  }
  const TimeColumn& column(int64_t place) {
    const auto known = columns_.find(place);
    return known != columns_.end()
               ? known->second
               : columns_.emplace(place, time_column(table_, place, missing_, others_missing_)).first->second;
  }

  [[noreturn]] static void fail(const std::string& message, std::string_view fix = "") {
    throw ValueError("expression.date", message, fix);
  }
  static void check_order(const TimeColumn& column) {
    if (!column.ambiguous) return;
    fail(cat("no day of column ", column_in_message(column.name),
             " is above 12, so that its dates may begin with the day or with the month"),
         "dates that begin with the year, 2022-02-03, leave no doubt");
  }
  // A text of such a form meets a column of other cells, or the other way.
  [[noreturn]] void refuse(const TimeColumn& column, std::string_view text, TimeKind wanted) const {
    const char* const forms =
        "; known are 2024-01-31, 31.1.2024, 1/31/2024, 31-Jan-2024, Wed, 31 Jan 2024 "
        "14:30:00 +0100, 14:30:00, 2:30 PM, 1 day 02:30:00 and PT2H30M";
    const auto reads = [&](std::string_view cell) {
      return wanted == TimeKind::kClock
                 ? read_clock(cell).has_value()
                 : read_date(cell, DateStyle::kDayFirst) || read_date(cell, DateStyle::kMonthFirst) ||
                       read_date(cell, DateStyle::kMonthName);
    };
    if (wanted == TimeKind::kNone)
      fail(cat("column ", column_in_message(column.name), " is of ", name_of(column.kind), ", and \"",
               shortened(text), "\" has no form that is read as such", forms));
    for (const ColumnProfile::Value& value : column.profile.values) {
      if (reads(value.text)) continue;
      fail(cat("\"", shortened(text), "\" is compared with ", name_of(wanted), ", and line ",
               table_.line(value.row), " of column ", column_in_message(column.name), " holds \"",
               shortened(value.text), "\", which has no form that is read as such", forms));
    }
    fail(cat("\"", shortened(text), "\" is compared with ", name_of(wanted), ", and those of column ",
             column_in_message(column.name), " have several forms"));
  }

  static std::optional<CellMeanings::Times> of_texts(std::string_view a, std::string_view b, bool orders) {
    const TimeKind kind = kind_of(a);
    if (!orders || a.empty() || b.empty() || (kind == TimeKind::kNone && kind_of(b) == kind))
      return std::nullopt;
    const auto unknown = [&] {
      fail(cat("which of \"", shortened(a), "\" and \"", shortened(b), "\" came first is not known"));
    };
    if (kind_of(b) != kind) unknown();
    if (kind == TimeKind::kClock) return CellMeanings::Times{{*read_clock(a)}, {*read_clock(b)}};
    const Moment of_a = *literal_date(a), of_b = *literal_date(b);
    if (of_a.offset.has_value() != of_b.offset.has_value()) unknown();
    return CellMeanings::Times{{of_a.instant()}, {of_b.instant()}};
  }

  std::optional<CellMeanings::Times> with_text(const TimeColumn& column, std::string_view text,
                                               bool orders) const {
    if (column.profile.present() == 0) return std::nullopt;
    const TimeKind kind = kind_of(text);
    if (kind == TimeKind::kNone && orders && column.kind == TimeKind::kNone && is_named_month(text))
      fail(cat("text is compared byte by byte, and the month \"", shortened(text),
               "\" does not begin with its year"),
           "write months as 2024-06");
    if (kind == TimeKind::kNone &&
        (!orders || column.kind == TimeKind::kNone || text.empty() || (column.plain && begins_date(text))))
      return std::nullopt;
    if (kind != column.kind || kind == TimeKind::kNone) {
      if (!orders) return std::nullopt;
      refuse(column, text, kind);
    }
    if (kind == TimeKind::kClock) return CellMeanings::Times{column.of_row, {*read_clock(text)}};
    check_order(column);
    check_offsets({&column.instants});
    Moment moment = *literal_date(text);
    const bool with = !column.instants.with.empty();
    if (with && !moment.offset) {
      if (!column.instants.same_offset)
        fail(cat("the dates of column ", column_in_message(column.name),
                 " have several offsets from UTC, and \"", shortened(text),
                 "\" has none: which of them came first is not known"),
             cat("write it as \"", date_text(moment.days), "T00:00:00Z\", or with another offset"));
      moment.offset = column.instants.offset;
    }
    if (!with && moment.offset)
      fail(cat("\"", shortened(text), "\" has an offset from UTC, and the dates of column ",
               column_in_message(column.name), " have none: which of them came first is not known"));
    return CellMeanings::Times{column.of_row, {moment.instant()}};
  }

  static std::optional<CellMeanings::Times> with_column(const TimeColumn& a, const TimeColumn& b,
                                                        bool orders) {
    if (a.profile.present() == 0 || b.profile.present() == 0) return std::nullopt;
    if (a.kind == TimeKind::kNone && b.kind == TimeKind::kNone) return std::nullopt;
    if (a.kind != b.kind) {
      if (!orders) return std::nullopt;
      fail(cat("column ", column_in_message(a.name), " is of ", name_of(a.kind), " and column ",
               column_in_message(b.name), " of ", name_of(b.kind),
               ": which of them came first is not known"));
    }
    if (!orders && a.ambiguous && b.ambiguous) return std::nullopt;
    check_order(a);
    check_order(b);
    check_offsets({&a.instants, &b.instants});
    return CellMeanings::Times{a.of_row, b.of_row};
  }

  const CsvTable& table_;
  const MissingWords& missing_;
  const bool others_missing_;
  std::vector<std::string>* const refused_;
  std::map<int64_t, TimeColumn> columns_;
};

CellMeanings times_alone(const CsvTable& table, const MissingWords& missing, bool others_missing,
                         std::vector<std::string>* refused) {
  const auto times = std::make_shared<TableTimes>(table, missing, others_missing, refused);
  CellMeanings out;
  out.times = [times](const auto& a, const auto& b, bool orders) { return (*times)(a, b, orders); };
  return out;
}

}  // namespace

std::optional<CellMeanings::Amounts> table_amounts(const CsvTable& table, int64_t column,
                                                   const MissingWords& missing_words) {
  return amounts_of(profile_column(table, all_rows(table), column, missing_words));
}

std::vector<Truth> table_truths(const Expression& condition, const CsvTable& table,
                                const MissingWords& missing_words) {
  CellMeanings meanings = times_alone(table, missing_words, false, nullptr);
  meanings.amounts = [&](int64_t column) {
    return amounts_of(profile_column(table, all_rows(table), column, missing_words));
  };
  return truths(
      condition, table,
      [&](std::string_view cell, const std::string& column) {
        return missing_words.of(column).contains(cell);
      },
      {}, meanings);
}

CellMeanings rule_meanings(const CsvTable& table, const MissingWords& missing,
                           std::vector<std::string>* refused) {
  return times_alone(table, missing, true, refused);
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
