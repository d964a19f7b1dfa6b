#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/digits.h"
#include "base/format.h"
#include "base/shortest.h"
#include "data/column_steps.h"
#include "data/instants.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr int64_t kDaySeconds = 24 * 60 * 60;
constexpr int64_t kFirstDay = -719162, kLastDay = 2932896;  // of the years 1 and 9999

// Days since 1970-01-01. https://howardhinnant.github.io/date_algorithms.html
int64_t days_of_civil(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text) {}

  // 2024-02-29, 2024/02/29, 20240229; 2024-02 and 2024Q1, 2024-Q1, which are of their first day.
  std::optional<Moment> read_iso() {
    const int64_t year = digits(4);
    const char separator = accept_any("-/");
    if (accept("Qq")) {
      const int64_t quarter = digits(1);
      return quarter > 4 || !text_.empty() ? std::nullopt : rest(year, 3 * quarter - 2, 1);
    }
    const int64_t month = digits(2);
    if (separator == '-' && text_.empty()) return rest(year, month, 1);
    if (separator && !accept({&separator, 1})) return std::nullopt;
    return rest(year, month, digits(2));
  }

  // 29.2.2024, 2/29/24, with /, . or - between the numbers. https://pubs.opengroup.org/onlinepubs/9699919799/
  // functions/strptime.html: years 69 to 99 are of the 20th century, 00 to 68 of the 21st.
  std::optional<Moment> read_civil(bool day_first) {
    const int64_t first = one_or_two();
    const char separator = accept_any("/.-");
    const int64_t second = one_or_two();
    if (!separator || !accept({&separator, 1})) return std::nullopt;
    const size_t before = text_.size();
    int64_t year = digits(2);
    if (!text_.empty() && is_digit(text_[0])) year = 100 * year + digits(2);
    if (before - text_.size() == 2) year += year < 69 ? 2000 : 1900;
    return day_first ? rest(year, second, first) : rest(year, first, second);
  }

  // 15-Jun-2024, 15 June 2024, Jun 15, 2024, Sat, 15 Jun 2024 12:30:00 +0200 (RFC 2822), and as C's ctime()
  // has it: Sat Jun 15 12:30:00 2024. English names, whole or their first three letters.
  std::optional<Moment> read_named() {
    if (one_of(kWeekdays) > 0) {
      accept(".");
      accept(",");
      accept(" ");
    }
    int64_t month = one_of(kMonths);
    if (month > 0) {
      accept(".");
      if (!accept("- /")) return std::nullopt;
      accept(" ");  // ctime() has days in two places
      const int64_t day = day_of_month();
      const bool comma = accept(",");
      if (!accept("- /") && !comma) return std::nullopt;
      if (!comma && text_.size() > 2 && (text_[1] == ':' || text_[2] == ':')) return read_ctime(month, day);
      return rest(named_year(), month, day);
    }
    const int64_t day = day_of_month();
    accept(".");
    if (!accept("- /")) return std::nullopt;
    month = one_of(kMonths);
    accept(".");
    accept(",");
    if (month == 0 || !accept("- /")) return std::nullopt;
    return rest(named_year(), month, day);
  }

 private:
  static constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                                 "may",       "june",     "july",     "august",
                                                 "september", "october",  "november", "december"};
  static constexpr std::string_view kWeekdays[] = {"monday", "tuesday",  "wednesday", "thursday",
                                                   "friday", "saturday", "sunday"};
  // From 1, of the word that comes: such a name, its first three letters, or "Sept"; 0, and nothing is taken.
  template <size_t kCount>
  int64_t one_of(const std::string_view (&names)[kCount]) {
    size_t size = 0;
    const auto letter = [&](size_t i) { return static_cast<char>(text_[i] | 32); };
    while (size < text_.size() && letter(size) >= 'a' && letter(size) <= 'z') ++size;
    if (size < 3) return 0;
    for (size_t i = 0; i < kCount; ++i) {
      if (size != 3 && size != names[i].size() && !(size == 4 && names[i] == "september")) continue;
      size_t same = 0;
      while (same < size && same < names[i].size() && letter(same) == names[i][same]) ++same;
      if (same < size) continue;
      text_.remove_prefix(size);
      return static_cast<int64_t>(i) + 1;
    }
    return 0;
  }
  // 5, 15, 15th.
  int64_t day_of_month() {
    const int64_t out = one_or_two();
    for (const std::string_view ending : {"st", "nd", "rd", "th"}) {
      if (!text_.starts_with(ending)) continue;
      text_.remove_prefix(ending.size());
      break;
    }
    return out;
  }
  int64_t named_year() {
    const size_t before = text_.size();
    int64_t year = digits(2);
    if (!text_.empty() && is_digit(text_[0])) year = 100 * year + digits(2);
    return before - text_.size() == 2 ? year + (year < 69 ? 2000 : 1900) : year;
  }
  std::optional<Moment> read_ctime(int64_t month, int64_t day) {
    Moment clock;
    time(clock);
    if (!accept(" ")) return std::nullopt;
    std::optional<Moment> out = rest(digits(4), month, day);
    if (!out || out->seconds != 0) return std::nullopt;
    clock.days += out->days;
    return clock;
  }

  // The character that was accepted, or 0.
  char accept_any(std::string_view any) {
    if (text_.empty() || any.find(text_[0]) == any.npos) return 0;
    const char found = text_[0];
    text_.remove_prefix(1);
    return found;
  }
  bool accept(std::string_view any) { return accept_any(any) != 0; }
  int64_t one_or_two() {
    const int64_t tens = digits(1);
    return !text_.empty() && is_digit(text_[0]) ? 10 * tens + digits(1) : tens;
  }
  // What follows the date, and all of it together.
  std::optional<Moment> rest(int64_t year, int64_t month, int64_t day) {
    if (failed_ || year < 1 || month < 1 || month > 12 || day < 1) return std::nullopt;
    const int64_t next = month == 12 ? days_of_civil(year + 1, 1, 1) : days_of_civil(year, month + 1, 1);
    Moment out{.days = days_of_civil(year, month, day)};
    if (out.days >= next) return std::nullopt;
    if (!text_.empty()) {
      if (accept(",") ? !accept(" ") : !accept("Tt ")) return std::nullopt;
      time(out);
      zone(out);
    }
    if (failed_ || !text_.empty() || out.days > kLastDay) return std::nullopt;
    return out;
  }
  int64_t digits(size_t count) {
    int64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      if (text_.empty() || !is_digit(text_[0])) {
        failed_ = true;
        return 0;
      }
      value = 10 * value + (text_[0] - '0');
      text_.remove_prefix(1);
    }
    return value;
  }
  int64_t below(int64_t limit) {
    const int64_t value = digits(2);
    if (value >= limit) failed_ = true;
    return value;
  }
  // 12:30, 123000, 12:30:00.5, 2:30 PM; 24:00 is the midnight that ends the day (ISO 8601-1:2019/Amd 1:2022).
  void time(Moment& out) {
    const bool short_hour = text_.size() > 1 && text_[1] == ':';
    int64_t hour = short_hour ? digits(1) : below(25);
    const bool extended = accept(":");
    int64_t seconds = 60 * below(60);
    const bool more = extended ? accept(":") : !text_.empty() && is_digit(text_[0]);
    if (more) {
      seconds += std::min<int64_t>(below(61), 59);
      if (accept(".,")) {
        if (text_.empty() || !is_digit(text_[0])) failed_ = true;
        for (double unit = 0.1; !text_.empty() && is_digit(text_[0]); unit /= 10)
          out.fraction += unit * static_cast<double>(digits(1));
      }
    }
    const std::string_view half = text_.substr(text_.starts_with(' '));
    if (half.size() == 2 && (half[1] | 32) == 'm' && ((half[0] | 32) == 'a' || (half[0] | 32) == 'p')) {
      if (hour < 1 || hour > 12) failed_ = true;
      hour = hour % 12 + ((half[0] | 32) == 'p' ? 12 : 0);
      text_ = {};
    }
    if (hour == 24 && (seconds != 0 || out.fraction != 0)) failed_ = true;
    out.days += hour / 24;
    out.seconds = 3600 * (hour % 24) + seconds;
  }
  // Z, +02:00, +0200, +02, UTC, and the other names of RFC 2822.
  void zone(Moment& out) {
    constexpr struct {
      std::string_view name;
      int64_t hours;
    } kNamed[] = {{"UTC", 0},  {"GMT", 0},  {"UT", 0},   {"EST", -5}, {"EDT", -4}, {"CST", -6},
                  {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}};
    if (text_.empty()) return;
    if (accept("Zz")) {
      out.offset = 0;
      return;
    }
    accept(" ");
    for (const auto& [name, hours] : kNamed) {
      if (text_ != name) continue;
      out.offset = 3600 * hours;
      text_ = {};
      return;
    }
    const char sign = accept_any("+-");
    if (!sign) {
      failed_ = true;
      return;
    }
    const int64_t hours = below(24);
    const int64_t minutes = accept(":") || !text_.empty() ? below(60) : 0;
    out.offset = (sign == '-' ? -60 : 60) * (60 * hours + minutes);
  }

  std::string_view text_;
  bool failed_ = false;
};

std::optional<Moment> of_seconds(std::optional<double> seconds) {
  constexpr auto kFirst = static_cast<double>(kFirstDay * kDaySeconds),
                 kEnd = static_cast<double>((kLastDay + 1) * kDaySeconds);
  if (!seconds || *seconds < kFirst || *seconds >= kEnd) return std::nullopt;
  const auto whole = static_cast<int64_t>(std::floor(*seconds));
  const int64_t days = (whole >= 0 ? whole : whole - kDaySeconds + 1) / kDaySeconds;
  return Moment{.days = days,
                .seconds = whole - days * kDaySeconds,
                .fraction = *seconds - static_cast<double>(whole),
                .offset = 0};
}

// Sine and cosine of a place in a cycle.
float* write_cycle(double place, double length, float* out) {
  const double angle = 2 * std::numbers::pi * place / length;
  *out++ = static_cast<float>(std::sin(angle));
  *out++ = static_cast<float>(std::cos(angle));
  return out;
}

}  // namespace

CivilDate civil_of_days(int64_t days) {
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), shifted = (5 * of_year + 2) / 153;
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {year + era * 400 + (month <= 2), month, static_cast<int>(of_year - (153 * shifted + 2) / 5 + 1)};
}

double Moment::instant() const {
  return static_cast<double>(days * kDaySeconds + seconds - offset.value_or(0)) + fraction;
}

std::optional<Moment> read_moment(std::string_view text, DateStyle style) {
  std::string ascii;
  if (has_high_bytes(text)) text = ascii = ascii_digits(text);
  switch (style) {
    case DateStyle::kIso:
      return DateReader(text).read_iso();
    case DateStyle::kDayFirst:
      return DateReader(text).read_civil(true);
    case DateStyle::kMonthFirst:
      return DateReader(text).read_civil(false);
    case DateStyle::kMonthName:
      return DateReader(text).read_named();
    case DateStyle::kSeconds:
      return of_seconds(parse_decimal(text));
    case DateStyle::kMilliseconds: {
      const std::optional<double> value = parse_decimal(text);
      return of_seconds(value ? std::optional(*value / 1000) : std::nullopt);
    }
  }
  return std::nullopt;
}

std::optional<Moment> read_date(std::string_view text, DateStyle style) {
  std::optional<Moment> out = read_moment(text, style);
  const bool civil =
      style == DateStyle::kDayFirst || style == DateStyle::kMonthFirst || style == DateStyle::kMonthName;
  return out || !civil ? out : read_moment(text, DateStyle::kIso);
}

std::string date_text(int64_t days) {
  const CivilDate date = civil_of_days(days);
  const auto two = [](int value) { return cat(value < 10 ? "-0" : "-", value); };
  return cat(date.year, two(date.month), two(date.day));
}

std::string DateStep::prepare() {
  if (!(scale > 0)) return "scale must be positive";
  if (std::isfinite(offset) && !(std::fabs(offset) < kDaySeconds)) return "offset must be less than a day";
  return range.least > range.most ? "first_day is behind last_day" : "";
}

std::string DateStep::seen() const {
  const bool dates =
      range.least >= static_cast<double>(kFirstDay) && range.most <= static_cast<double>(kLastDay);
  return dates ? cat(date_text(static_cast<int64_t>(range.least)), " to ",
                     date_text(static_cast<int64_t>(range.most)))
               : "";
}

std::string DateStep::written() const {
  constexpr const char* kExamples[] = {"2022-06-15", "1655251200", "1655251200000",
                                       "15.06.2022", "06/15/2022", "15-Jun-2022"};
  return kExamples[static_cast<size_t>(style)];
}

std::vector<std::string> DateStep::names(const std::string& column) const {
  std::vector<std::string> out;
  for (const char* part : {" year", " month sin", " month cos", " day", " weekday sin", " weekday cos"})
    out.push_back(column + part);
  if (hours) {
    out.push_back(cat(column, " hour sin"));
    out.push_back(cat(column, " hour cos"));
  }
  if (indicator) out.push_back(cat(column, " missing"));
  return out;
}

std::vector<std::string> DateStep::formulas() const {
  constexpr const char* kForms[] = {
      "2024-02-29, 2024/02/29, 20240229, 2024-02 or 2024Q1",
      "seconds since 1970-01-01",
      "milliseconds since 1970-01-01",
      "29.2.2024, 29/2/24, 29-2-2024 or 2024-02-29, 69 to 99 being 1969 to 1999",
      "2/29/2024, 2.29.24, 2-29-2024 or 2024-02-29, 69 to 99 being 1969 to 1999",
      "29-Feb-2024, 29 February 2024, Feb 29, 2024, Thu, 29 Feb 2024 or 2024-02-29"};
  const bool written = style != DateStyle::kSeconds && style != DateStyle::kMilliseconds;
  const std::string zone =
      std::isfinite(offset)
          ? cat("from which the time at ", offset_text(static_cast<int64_t>(offset)), " from UTC follows")
          : "which does not count";
  const std::string time =
      written ? cat("; a time may follow, 12:30, 12:30:00.5 or 2:30 PM, and a zone, ", zone) : "";
  std::vector<std::string> out = {
      cat("(year - ", shortest(mean), ") / ", shortest(scale), ", at least -10, at most 10; x is ",
          kForms[static_cast<size_t>(style)], time),
      "sin(2 pi (month - 1) / 12)",
      "cos(2 pi (month - 1) / 12)",
      "(day - 16) / 8.94",
      "sin(2 pi weekday / 7), Monday is 0",
      "cos(2 pi weekday / 7), Monday is 0"};
  if (hours) {
    out.emplace_back("sin(2 pi seconds of the day / 86400)");
    out.emplace_back("cos(2 pi seconds of the day / 86400)");
  }
  for (std::string& formula : out) formula += "; 0 where missing";
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

CellOutcome DateStep::read(const Cell& cell, float* out) const {
  const std::optional<Moment> moment = moment_of(cell.text);
  if (!moment) {
    read_missing(out);
    return CellOutcome::kUnreadable;
  }
  const CivilDate date = civil_of_days(moment->days);
  const double years = (static_cast<double>(date.year) - mean) / scale;
  *out++ = static_cast<float>(std::clamp(years, -10.0, 10.0));
  out = write_cycle(date.month - 1, 12, out);
  // The mean and the deviation of 1 to 31.
  *out++ = static_cast<float>((date.day - 16) / 8.94);
  out = write_cycle(static_cast<double>(((moment->days + 3) % 7 + 7) % 7), 7, out);
  if (hours) write_cycle(static_cast<double>(moment->seconds), kDaySeconds, out);
  return range.contains(static_cast<double>(moment->days)) ? CellOutcome::kRead : CellOutcome::kBeyond;
}

void DateStep::read_missing(float* out) const {
  if (indicator) out[width() - 1] = 1;
}

}  // namespace espalier
