#include "validate/statistics_time.h"

#include <algorithm>

#include "base/digits.h"
#include "base/format.h"

namespace espalier {
namespace {

constexpr std::string_view kDates[] = {"%Y-%m-%d", "%Y/%m/%d", "%Y%m%d",   "%y-%m-%d", "%y/%m/%d", "%m-%d-%Y",
                                       "%m/%d/%Y", "%m%d%Y",   "%m-%d-%y", "%m/%d/%y", "%d-%m-%Y", "%d/%m/%Y",
                                       "%d%m%Y",   "%d-%B-%Y", "%d-%m-%y", "%d/%m/%y", "%d-%B-%y"};
constexpr std::string_view kTimes[] = {"%H:%M", "%H:%M:%S", "%H:%M:%S.%f"};
constexpr std::string_view kBoth = "%a %b %d %H:%M:%S %Y";

constexpr std::string_view kDays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

struct Unit {
  tfmd::TimeDomain::IntegerTimeFormat format;
  double begin, end;  // 1990 and 2030
};
constexpr double kBegin = 631152000, kEnd = 1893456000;
constexpr Unit kUnitsOfTime[] = {{tfmd::TimeDomain::UNIX_DAYS, kBegin / 86400, kEnd / 86400},
                                 {tfmd::TimeDomain::UNIX_SECONDS, kBegin, kEnd},
                                 {tfmd::TimeDomain::UNIX_MILLISECONDS, kBegin * 1e3, kEnd * 1e3},
                                 {tfmd::TimeDomain::UNIX_MICROSECONDS, kBegin * 1e6, kEnd * 1e6},
                                 {tfmd::TimeDomain::UNIX_NANOSECONDS, kBegin * 1e9, kEnd * 1e9}};

constexpr uint64_t kLeastValues = 100;
constexpr double kLeastRatio = 0.8;

bool all_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

// One digit, or two up to `most`.
bool is_small(std::string_view text, std::string_view most) {
  return all_digits(text) && (text.size() == 1 || text <= most);
}

// The numbers of characters that a directive can take.
struct Widths {
  size_t least, most;
};
Widths widths_of(char directive) {
  switch (directive) {
    case 'a':
    case 'b':
      return {3, 3};
    case 'B':
      return {3, 9};
    case 'Y':
      return {4, 4};
    case 'y':
      return {2, 2};
    case 'f':
      return {1, 6};
    case 'S':
      return {1, 3};
    default:
      return {1, 2};
  }
}

// `text` is of one of the directive's widths.
bool is_of(char directive, std::string_view text) {
  switch (directive) {
    case 'a':
      return std::ranges::find(kDays, text) != std::end(kDays);
    case 'b':
      return std::ranges::any_of(kMonths, [&](std::string_view month) { return month.starts_with(text); });
    case 'B':
      return std::ranges::find(kMonths, text) != std::end(kMonths);
    case 'd':
      if (text.size() == 2 && text[0] == ' ') text.remove_prefix(1);
      return is_small(text, "31") && text != "0" && text != "00";
    case 'm':
      return is_small(text, "12") && text != "0" && text != "00";
    case 'H':
      return is_small(text, "23");
    case 'M':
      return is_small(text, "59");
    case 'S':
      return text.size() == 3 ? text == "600" || text == "601" : is_small(text, "59");
    default:
      return all_digits(text);
  }
}

size_t at(auto place, const auto& all) { return static_cast<size_t>(place - all.begin()); }

}  // namespace

const std::vector<std::string>& time_formats() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out(std::begin(kDates), std::end(kDates));
    out.insert(out.end(), std::begin(kTimes), std::end(kTimes));
    out.emplace_back(kBoth);
    for (const std::string_view date : kDates) {
      for (const std::string_view time : kTimes) {
        for (const char between : {'T', ' '}) out.push_back(cat(date, std::string(1, between), time));
      }
    }
    return out;
  }();
  return all;
}

bool fits_time_format(std::string_view format, std::string_view text) {
  if (format.empty() || text.empty()) return format.empty() && text.empty();
  if (format[0] != '%') {
    const bool same = format[0] == '.' ? text[0] != '\n' : text[0] == format[0];
    return same && fits_time_format(format.substr(1), text.substr(1));
  }
  const Widths widths = widths_of(format[1]);
  for (size_t width = widths.least; width <= std::min(widths.most, text.size()); ++width) {
    if (is_of(format[1], text.substr(0, width)) && fits_time_format(format.substr(2), text.substr(width)))
      return true;
  }
  return false;
}

void TimeCounts::add(std::string_view text) {
  constexpr size_t kLongest = 34;  // "30-September-2018T23:59:601.123456"
  empty_ += text.empty();
  if (text.size() > kLongest) return;
  const std::vector<std::string>& formats = time_formats();
  for (size_t i = 0; i < formats.size(); ++i) formats_[i] += fits_time_format(formats[i], text);
}

void TimeCounts::add(double whole) {
  for (size_t i = 0; i < kUnits; ++i)
    units_[i] += kUnitsOfTime[i].begin <= whole && whole < kUnitsOfTime[i].end;
}

void TimeCounts::merge(const TimeCounts& other) {
  const auto add = [](auto& mine, const auto& theirs) {
    std::ranges::transform(mine, theirs, mine.begin(), std::plus());
  };
  add(units_, other.units_);
  add(formats_, other.formats_);
  empty_ += other.empty_;
}

void TimeCounts::fill(uint64_t values, tfmd::FeatureNameStatistics& out) const {
  if (values < kLeastValues || empty_ > 0) return;
  const auto unit = std::ranges::max_element(units_);
  const auto format = std::ranges::max_element(formats_);
  const double ratio = static_cast<double>(std::max(*unit, *format)) / static_cast<double>(values);
  if (ratio < kLeastRatio) return;
  auto& domain = *out.add_custom_stats();
  domain.set_name("domain_info");
  domain.set_str(*format > *unit
                     ? cat("time_domain {string_format: '", time_formats()[at(format, formats_)], "'}")
                     : cat("time_domain {integer_format: ", int{kUnitsOfTime[at(unit, units_)].format}, "}"));
  auto& matched = *out.add_custom_stats();
  matched.set_name("time_match_ratio");
  matched.set_num(ratio);
}

void TimeCounts::write(SketchWriter& out) const {
  for (const uint64_t count : units_) out.number(count);
  for (const uint64_t count : formats_) out.number(count);
  out.number(empty_);
}

void TimeCounts::read(SketchReader& in, uint64_t values) {
  const auto read_count = [&](uint64_t& count) {
    count = in.number();
    in.check(count <= values);
  };
  std::ranges::for_each(units_, read_count);
  std::ranges::for_each(formats_, read_count);
  read_count(empty_);
}

}  // namespace espalier
