#include "data/column_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/format.h"
#include "base/hash.h"
#include "base/hash_list.h"
#include "base/shortened.h"
#include "data/date_clock.h"

namespace espalier {
namespace {

constexpr double kSkewed = 2;

std::string missing_text(const ColumnProfile& profile) {
  return profile.missing ? cat(", missing in ", share_of_rows(profile.missing, profile.rows())) : "";
}

// A word that stands in most of these cells is named: it may mean that nothing is known.
template <class Reads>
std::string unreadable_text(const ColumnProfile& profile, const char* what, Reads reads) {
  constexpr int64_t kOften = 3;
  int64_t cells = 0, row = std::numeric_limits<int64_t>::max();
  ColumnProfile::Value most;
  for (const ColumnProfile::Value& value : profile.values) {
    if (reads(value.text)) continue;
    cells += value.count;
    row = std::min(row, value.row);
    if (value.count > most.count) most = value;
  }
  if (cells == 0) return "";
  const bool named = most.count >= kOften && 2 * most.count > cells;
  return cat(", ", cells, cells == 1 ? " cell is no " : " cells are no ", what,
             cells == 1 ? " and counts as missing, in line " : "s and count as missing, the first in line ",
             profile.table->line(row), named ? cat(" (--missing \"", most.text, "\" says so)") : "");
}

// How numbers of this style are written; without a mark between thousands where no cell has one.
const char* example_of(NumberStyle style, const ColumnProfile& profile) {
  constexpr const char* kExamples[] = {"1234.5",  "1,234.5", "1.234,5", "1'234.5",
                                       "1 234.5", "1 234,5", "1'234,5", "14:30:00, in seconds"};
  const auto none = [&](std::string_view marks) {
    return profile.count([&](std::string_view text) { return text.find_first_of(marks) != text.npos; }) == 0;
  };
  constexpr std::string_view kBlanks = " \xC2\xE2";  // of UTF-8's blanks the first byte
  const auto pairs = [](std::string_view text) {
    const size_t mark = text.find(',');
    return mark != text.npos && text.find(',', mark + 1) == mark + 3;
  };
  if (style == NumberStyle::kThousands && profile.count(pairs) > 0) return "12,34,567.8";
  if (style == NumberStyle::kDecimalComma && none(".")) return "1234,5";
  if (style == NumberStyle::kSpacesDecimalComma && none(kBlanks))
    return none(".") ? "1234,5" : "1234.5 and 1234,5";
  return kExamples[static_cast<size_t>(style)];
}

std::string negatives_text(const ColumnProfile& profile, const NumberForm& form) {
  const int64_t cells = profile.count([&](std::string_view text) {
    return text.find('(') != text.npos && read_number(text, form).has_value();
  });
  return cells ? cat(", negative where in parentheses (", share_of_rows(cells, profile.rows()), ")") : "";
}

double scale_of(const NumberMoments& moments) { return moments.deviation > 0 ? moments.deviation : 1; }

FittedStep fit_numeric(const NumberForm& form, const ColumnProfile& profile) {
  const WeightedNumbers numbers = numbers_of(profile, form);
  NumericStep step{.form = form};
  step.log = wants_logarithm(numbers, 0, kSkewed);
  const NumberMoments moments = moments_of(numbers, step.log);
  step.median = numbers.median();
  step.mean = moments.mean;
  step.scale = scale_of(moments);
  step.indicator = numbers.count < profile.rows();
  step.range = {numbers.least(), numbers.most()};
  if (!form.unit.empty())
    step.without_unit = profile.count([&](std::string_view cell) { return lacks_unit(cell, form); });
  std::string text = cat("numeric, ", step.seen());
  if (!form.unit.empty()) text += cat(", in ", form.unit);
  if (form.style != NumberStyle::kPlain) text += cat(", written as ", example_of(form.style, profile));
  if (form.multiples) text += ", with K for thousands, M for millions, B or G for billions";
  text += negatives_text(profile, form);
  if (step.log) text += ", strongly skewed and so taken as its logarithm";
  text += missing_text(profile) + unreadable_text(profile, "number", [&](std::string_view cell) {
            return read_number(cell, form).has_value();
          });
  std::string hint = form.unit.empty() ? "" : unit_mix(profile, {form, numbers.count});
  if (!hint.empty()) hint = read_alike(hint, form);
  return {{.how = std::move(step), .cells = {.read = numbers.count}}, std::move(text), std::move(hint)};
}

// The hashes of values that share an input: to tell them from new ones, without writing them down.
std::string rare_hashes(std::span<const ColumnProfile::Value> values) {
  constexpr size_t kMost = 10000;
  std::vector<uint64_t> out;
  if (values.size() <= kMost) {
    for (const ColumnProfile::Value& value : values) out.push_back(hash_text(value.text));
  }
  return hash_list_text(std::move(out));
}

// bonn, Bonn, BONN: each has an input of its own.
std::string spellings_hint(const ColumnProfile& profile) {
  const auto same = same_spellings(profile.texts());
  if (same.empty()) return "";
  const auto& [first, other] = same[0];
  const size_t more = same.size() - 1;
  return cat("\"", shortened(first), "\" and \"", shortened(other), "\"",
             more ? cat(", and ", more, more == 1 ? " other," : " others,") : "", " differ in ",
             spelling_difference(first, other),
             " alone, and count as different: where they are one, write them alike");
}

FittedStep fit_category(const ColumnProfile& profile, int64_t max_categories) {
  // In a larger table a category of a single row teaches nothing about itself, but something about rare ones.
  constexpr int64_t kLargeTable = 100;
  std::vector<ColumnProfile::Value> sorted = profile.values;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  size_t kept = sorted.size();
  if (profile.rows() >= kLargeTable && sorted[0].count > 1)
    kept =
        static_cast<size_t>(std::ranges::count_if(sorted, [](const auto& value) { return value.count > 1; }));
  const bool many = static_cast<int64_t>(kept) > max_categories;
  if (many) kept = static_cast<size_t>(max_categories);
  CategoryStep step;
  int64_t named = 0;
  for (const ColumnProfile::Value& value : std::span(sorted).first(kept)) {
    step.categories.emplace_back(value.text);
    named += value.count;
  }
  step.other = static_cast<double>(profile.present() - named) / static_cast<double>(profile.rows());
  step.rare = rare_hashes(std::span(sorted).subspan(kept));
  step.indicator = profile.missing > 0;
  std::string text =
      cat("category of ", profile.different(), profile.different() == 1 ? " value" : " values");
  if (named < profile.present()) {
    text += cat(", of which the ", kept, " most frequent stand for themselves and the others (",
                share_of_rows(profile.present() - named, profile.rows()), ") together");
  }
  text += missing_text(profile);
  if (many)
    text += cat("; max_categories is ", max_categories, ", a key of the plan that --write-plan writes");
  return {{.how = std::move(step), .cells = {.read = profile.present()}},
          std::move(text),
          spellings_hint(profile)};
}

FittedStep fit_boolean(const ColumnProfile& profile) {
  const int64_t yes = profile.count([](std::string_view text) { return read_truth(text) == true; });
  BooleanStep step{.often = 2 * yes > profile.present(), .indicator = profile.missing > 0};
  return {{.how = step, .cells = {.read = profile.present()}},
          cat("boolean, true in ", share_of_rows(yes, profile.present()), missing_text(profile))};
}

FittedStep fit_date(DateStyle style, const ColumnProfile& profile) {
  DateClock clock = clock_of(profile, style);
  DateStep step{.style = style, .offset = clock.offset};
  int64_t read = 0, first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  WeightedNumbers years;
  for (const ColumnProfile::Value& value : profile.values) {
    const std::optional<Moment> moment = step.moment_of(value.text);
    if (!moment) continue;
    read += value.count;
    first = std::min(first, moment->days);
    last = std::max(last, moment->days);
    step.hours = step.hours || moment->seconds != 0;
    years.values.emplace_back(static_cast<double>(civil_of_days(moment->days).year), value.count);
    years.count += value.count;
  }
  const NumberMoments moments = moments_of(years, false);
  step.mean = moments.mean;
  step.scale = scale_of(moments);
  step.indicator = read < profile.rows();
  step.range = {static_cast<double>(first), static_cast<double>(last)};
  return {{.how = step, .cells = {.read = read}},
          cat("date, ", step.seen(), step.hours ? ", with the hour" : "", clock.text,
              style == DateStyle::kDayFirst ? ", day before month" : "",
              style == DateStyle::kMonthFirst ? ", month before day" : "",
              style == DateStyle::kMonthName ? ", with the month's name" : "", missing_text(profile),
              unreadable_text(profile, "date",
                              [&](std::string_view cell) { return read_date(cell, style).has_value(); })),
          std::move(clock.hint)};
}

FittedStep fit_how(const ColumnGuess& guess, const ColumnProfile& profile, int64_t max_categories) {
  switch (guess.kind) {
    case ColumnKind::kNumeric:
      return fit_numeric(guess.numbers, profile);
    case ColumnKind::kBoolean:
      return fit_boolean(profile);
    case ColumnKind::kDate:
      return fit_date(guess.dates, profile);
    default:
      return fit_category(profile, max_categories);
  }
}

}  // namespace

bool wants_logarithm(const WeightedNumbers& numbers, double least, double skewness) {
  if (numbers.least() < least) return false;
  const double plain = moments_of(numbers, false).skewness;
  return plain > skewness && std::fabs(moments_of(numbers, true).skewness) < plain;
}

FittedStep fit_step(const std::string& name, const ColumnGuess& guess, const ColumnProfile& profile,
                    int64_t max_categories) {
  FittedStep out = fit_how(guess, profile, max_categories);
  out.step.column = name;
  out.step.cells.unread = profile.present() - out.step.cells.read;
  out.step.cells.missing = profile.missing;
  std::visit([](auto& step) { step.prepare(); }, out.step.how);
  return out;
}

}  // namespace espalier
