#include "data/column_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/format.h"
#include "format/number_marks.h"

namespace espalier {

ColumnProfile profile_column(const CsvTable& table, std::span<const int64_t> rows, int64_t column,
                             const MissingWords& words) {
  const MissingWords& missing = words.of(table.names()[static_cast<size_t>(column)]);
  ColumnProfile out;
  out.table = &table;
  out.delimiter = table.delimiter();
  out.point = table.numbers().point;
  out.told = table.numbers().told;
  out.codes.reserve(rows.size());
  std::unordered_map<std::string_view, uint32_t> places;
  for (const int64_t row : rows) {
    const std::string_view text = table.cell(row, column);
    if (missing.contains(text)) {
      ++out.missing;
      out.codes.push_back(ColumnProfile::kMissing);
      continue;
    }
    const auto [found, inserted] = places.emplace(text, static_cast<uint32_t>(out.values.size()));
    if (inserted) out.values.push_back({text, 0, row});
    ColumnProfile::Value& value = out.values[found->second];
    ++value.count;
    value.row = std::min(value.row, row);
    out.codes.push_back(found->second);
  }
  return out;
}

namespace {

std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

std::vector<int64_t> all_rows(const CsvTable& table) { return first_numbers(table.rows()); }
std::vector<int64_t> all_columns(const CsvTable& table) { return first_numbers(table.columns()); }

std::vector<double> value_numbers(const ColumnProfile& profile, const NumberForm& form) {
  std::vector<double> out;
  for (const ColumnProfile::Value& value : profile.values) out.push_back(*read_number(value.text, form));
  return out;
}

std::vector<double> sorted_numbers(const ColumnProfile& profile, const NumberForm& form) {
  std::vector<double> out;
  for (const ColumnProfile::Value& value : profile.values)
    out.insert(out.end(), static_cast<size_t>(value.count), *read_number(value.text, form));
  std::ranges::sort(out);
  return out;
}

WeightedNumbers numbers_of(const ColumnProfile& profile, const NumberForm& form) {
  WeightedNumbers out;
  for (const ColumnProfile::Value& value : profile.values) {
    if (const std::optional<double> number = read_number(value.text, form)) {
      out.values.emplace_back(*number, value.count);
      out.count += value.count;
    }
  }
  std::sort(out.values.begin(), out.values.end());
  return out;
}

double WeightedNumbers::median() const {
  // Of an even count the mean of the two in the middle.
  const auto at = [&](int64_t place) {
    for (const auto& [value, times] : values) {
      if (place < times) return value;
      place -= times;
    }
    return 0.0;
  };
  return at((count - 1) / 2) / 2 + at(count / 2) / 2;
}

NumberMoments moments_of(const WeightedNumbers& numbers, bool log) {
  const auto each = [&](auto&& add) {
    for (const auto& [value, times] : numbers.values)
      add(log ? std::log1p(value) : value, static_cast<double>(times));
  };
  const auto count = static_cast<double>(numbers.count);
  double sum = 0, squares = 0, cubes = 0;
  each([&](double x, double times) { sum += x * times; });
  const double mean = sum / count;
  each([&](double x, double times) {
    const double from_mean = x - mean;
    squares += times * from_mean * from_mean;
    cubes += times * from_mean * from_mean * from_mean;
  });
  const double deviation = std::sqrt(squares / count), cubed = deviation * deviation * deviation;
  return {mean, deviation, cubed > 0 ? cubes / count / cubed : 0};
}

namespace {

// 4.643: a point before three digits, and no other.
bool all_points_group(const ColumnProfile& profile, const std::string& unit) {
  bool any = false;
  for (const ColumnProfile::Value& value : profile.values) {
    if (value.text.find('.') == value.text.npos) continue;
    if (!read_number(value.text, {NumberStyle::kDecimalComma, unit})) return false;
    any = true;
  }
  return any;
}

// The styles in the order in which they are likely.
std::vector<NumberStyle> number_styles(const ColumnProfile& profile, const std::string& unit) {
  using enum NumberStyle;
  if (profile.told) {
    if (profile.point == '.') return {kPlain, kThousands, kApostrophes, kSpaces, kClock};
    return {kDecimalComma, kSpacesDecimalComma, kApostrophesDecimalComma, kClock};
  }
  std::vector<NumberStyle> styles{
      kPlain, kThousands, kDecimalComma, kApostrophes, kSpaces, kSpacesDecimalComma, kApostrophesDecimalComma,
      kClock};
  // As the table does: the column itself counts more than others.
  const auto decimal = [&](char mark) {
    if (profile.point != mark) return false;
    NumberMarks marks;
    for (const ColumnProfile::Value& value : profile.values) marks.look(value.text);
    return !marks.thousands(mark);
  };
  const bool semicolons = profile.delimiter == ';';
  // Semicolons part cells where commas are decimal.
  if (semicolons || decimal(',')) std::swap(styles[1], styles[2]);
  if (semicolons && !decimal('.') && all_points_group(profile, unit)) std::swap(styles[0], styles[1]);
  // In Brazil too.
  if (!semicolons && unit == "R$" && all_points_group(profile, unit))
    std::iter_swap(styles.begin(), std::ranges::find(styles, kDecimalComma));
  return styles;
}

bool is_multiple(const std::string& unit) { return unit.size() == 1 && multiple_of(unit[0]) > 0; }

// The unit of most cells, the first of them in doubt; letters that count thousands are units too where
// `multiples`.
std::string commonest_unit(const ColumnProfile& profile, bool multiples) {
  std::map<std::string, int64_t> counts;
  std::string best;
  for (const ColumnProfile::Value& value : profile.values) {
    const std::string unit = unit_of(value.text);
    if (unit.empty() || (!multiples && is_multiple(unit))) continue;
    counts[unit] += value.count;
    if (best.empty()) best = unit;
  }
  for (const auto& [unit, count] : counts) {
    if (count > counts[best]) best = unit;
  }
  return best;
}

bool all_follow(const ColumnProfile& profile, const NumberForm& form) {
  return std::ranges::all_of(profile.values,
                             [&](const auto& value) { return read_number(value.text, form).has_value(); });
}

// The powers of ten that letters behind numbers of the form count, 0 where there is none.
std::set<int> powers_of(const ColumnProfile& profile, const NumberForm& form) {
  std::set<int> out;
  const NumberForm bare(form.style, form.unit);
  for (const ColumnProfile::Value& value : profile.values) {
    if (!read_number(value.text, form)) continue;
    const size_t letter = read_number(value.text, bare) ? value.text.npos : value.text.find_last_of("KkMBGT");
    out.insert(letter == value.text.npos ? 0 : multiple_of(value.text[letter]));
  }
  return out;
}

// The form with letters for thousands, as 9.6K beside 850 or 1.2M, that most cells follow, more than `least`.
// Of one letter alone nobody knows whether it is a unit, as K of kelvin.
FormCount multiples_form(const ColumnProfile& profile, int64_t least) {
  const auto has_letter = [](std::string_view text) { return text.find_first_of("KkMBGT") != text.npos; };
  FormCount best{.cells = least};
  if (profile.count(has_letter) == 0) return best;
  for (const std::string& unit : {std::string(), commonest_unit(profile, false)}) {
    for (const NumberStyle style : number_styles(profile, unit)) {
      if (style == NumberStyle::kClock) continue;
      const NumberForm form(style, unit, true);
      const int64_t cells =
          profile.count([&](std::string_view text) { return read_number(text, form).has_value(); });
      if (cells > best.cells && powers_of(profile, form).size() > 1) best = {form, cells};
    }
  }
  return best;
}

}  // namespace

std::optional<NumberForm> form_of_all(const ColumnProfile& profile) {
  if (profile.values.empty()) return std::nullopt;
  const std::string unit = unit_of(profile.values[0].text);
  for (const std::string& of : {std::string(), unit}) {
    const bool some = is_multiple(of) &&
                      profile.count([&](std::string_view text) { return text.find(of) == text.npos; }) > 0;
    if (some) continue;
    for (const NumberStyle style : number_styles(profile, of)) {
      const NumberForm form(style, of);
      if (all_follow(profile, form)) return form;
    }
    if (unit.empty()) break;
  }
  const FormCount multiples = multiples_form(profile, 0);
  return multiples.cells == profile.present() ? std::optional(multiples.form) : std::nullopt;
}

std::optional<NumberForm> form_of_all(const ColumnProfile& a, const ColumnProfile& b) {
  const std::optional<NumberForm> of_a = form_of_all(a);
  if (!of_a || b.values.empty()) return std::nullopt;
  if (all_follow(b, *of_a)) return of_a;
  const std::optional<NumberForm> of_b = form_of_all(b);
  return of_b && all_follow(a, *of_b) ? of_b : std::nullopt;
}

FormCount number_form(const ColumnProfile& profile) {
  FormCount best;
  const auto try_unit = [&](const std::string& unit) {
    // Without the word it may be another unit's number; $ and % are often left out.
    const std::string must_have = is_symbol(unit) ? "" : unit;
    for (const NumberStyle style : number_styles(profile, unit)) {
      if (best.cells == profile.present()) return;
      const NumberForm form(style, unit);
      const int64_t cells = profile.count([&](std::string_view text) {
        return text.find(must_have) != text.npos && read_number(text, form).has_value();
      });
      if (cells > best.cells) best = {form, cells};
    }
  };
  try_unit("");
  if (best.cells == profile.present()) return best;
  if (const std::string unit = commonest_unit(profile, true); !unit.empty()) try_unit(unit);
  if (best.cells == profile.present()) return best;
  // A few cells without the letter that nearly all have are no sign of thousands.
  const bool nearly_all = 20 * best.cells >= 19 * profile.present();
  const FormCount multiples = multiples_form(profile, best.cells);
  const bool only_bare = nearly_all && powers_of(profile, multiples.form).size() == 2 &&
                         powers_of(profile, multiples.form).contains(0);
  return multiples.form.multiples && !only_bare ? multiples : best;
}

bool has_leading_zero(std::string_view text) {
  std::string ascii;
  if (has_high_bytes(text)) text = ascii = ascii_digits(text);
  const bool zero = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  return zero && text.find(':') == text.npos;
}

std::string share_of_rows(int64_t part, int64_t whole) {
  const double share = 100 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
  if (share < 1) return cat(part, part == 1 ? " row" : " rows");
  char text[32];
  std::snprintf(text, sizeof text, share > 99 && share < 100 ? "%.4g %%" : "%.0f %%", share);
  return text;
}

std::string short_number(double value) {
  constexpr double kMostWhole = 1e12;
  char text[32];
  std::snprintf(text, sizeof text,
                value == std::floor(value) && std::fabs(value) < kMostWhole ? "%.0f" : "%.6g", value);
  return text;
}

}  // namespace espalier
