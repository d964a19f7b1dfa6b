#include "data/column_guess.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/shortened.h"

namespace espalier {

bool nearly_all(int64_t cells, int64_t present) {
  constexpr double kNearlyAll = 0.95;
  return cells > 0 && static_cast<double>(cells) >= kNearlyAll * static_cast<double>(present);
}

namespace {

// Below this many rows, values that all differ say nothing.
constexpr int64_t kFewRows = 20;
constexpr double kMostMissing = 0.95;

bool nearly_all(int64_t cells, const ColumnProfile& profile) {
  return espalier::nearly_all(cells, profile.present());
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  }
  return out;
}

// id, user_id, userId, index, ...
bool named_like_an_id(const std::string& name) {
  const std::string word = lower(name);
  for (const std::string_view whole : {"id", "ids", "index", "idx", "key", "uuid", "guid", "row", "rownum"}) {
    if (word == whole) return true;
  }
  // Rupees end like a number, Nr.
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.ends_with("inr") && (word.size() == 3 || !letter(word[word.size() - 4]) || name.ends_with("INR")))
    return false;
  for (const std::string_view ending :
       {"_id", "-id", " id", ".id", "_key", "_uuid", "_index", "_no", " no", " no.", "nr", "nr.", "nummer"}) {
    if (word.ends_with(ending)) return true;
  }
  const bool camel = name.size() > 2 && name.ends_with("Id") && name[name.size() - 3] >= 'a';
  const bool capital = name.size() > 2 && name.ends_with("ID") && name[name.size() - 3] >= 'a';
  return camel || capital || word.starts_with("id_") || word.starts_with("unnamed:");
}

// In small letters: when, event_time, created_at, order date, ts, ...
bool named_like_a_time(std::string_view word) {
  for (const std::string_view ending : {"time", "date"}) {
    if (word.ends_with(ending)) return true;
  }
  const size_t part = word.find_last_of("_-. ");
  const std::string_view last = part == word.npos ? word : word.substr(part + 1);
  return last == "when" || last == "ts" || (last == "at" && part != word.npos);
}

// 1, 2, 3, ...: an index that a program wrote beside the rows.
bool counts_up(const ColumnProfile& profile) {
  for (size_t i = 1; i < profile.values.size(); ++i) {
    const std::optional<double> before = read_number(profile.values[i - 1].text, NumberStyle::kPlain),
                                now = read_number(profile.values[i].text, NumberStyle::kPlain);
    if (!before || !now || *now <= *before) return false;
  }
  return true;
}

// Whole numbers of one length, at least 8 digits, that come again and again: the names of something.
bool are_codes(const ColumnProfile& profile) {
  constexpr size_t kDigits = 8;
  const size_t length = std::min(profile.values[0].text.find('.'), profile.values[0].text.size());
  return length >= kDigits && profile.different() * 10 <= profile.present() &&
         std::all_of(profile.values.begin(), profile.values.end(), [&](const ColumnProfile::Value& value) {
           return std::min(value.text.find('.'), value.text.size()) == length &&
                  is_whole(value.text, NumberStyle::kPlain);
         });
}

ColumnGuess dropped(std::string why, bool text = false) {
  return {.kind = ColumnKind::kDropped, .why = std::move(why), .text = text};
}

ColumnGuess guess_number(const std::string& name, bool nameless, bool included, const ColumnProfile& profile,
                         const NumberForm& form) {
  const bool whole =
      nearly_all(profile.count([&](std::string_view text) { return is_whole(text, form); }), profile);
  const bool all_differ = profile.different() == profile.present() && profile.rows() >= kFewRows;
  const ColumnGuess category{.kind = ColumnKind::kCategory};
  const ColumnGuess number{.kind = ColumnKind::kNumeric, .numbers = form};
  if (profile.different() == 1) return category;
  if (whole && all_differ && included) return number;
  if (whole && all_differ && named_like_an_id(name)) return dropped("an identifier: every value differs");
  if (whole && all_differ && nameless && counts_up(profile)) return dropped("it numbers the rows");
  if (whole && named_like_an_id(name)) return category;
  if (are_codes(profile)) return category;
  return number;
}

ColumnGuess guess_text(bool included, const ColumnProfile& profile) {
  constexpr double kLongText = 40;
  const int64_t different = profile.different(), present = profile.present();
  if (present < kFewRows || included) return {.kind = ColumnKind::kCategory};
  if (2 * different <= present) return {.kind = ColumnKind::kCategory};
  int64_t bytes = 0;
  for (const ColumnProfile::Value& value : profile.values)
    bytes += value.count * static_cast<int64_t>(value.text.size());
  if (static_cast<double>(bytes) > kLongText * static_cast<double>(present))
    return dropped("free text", true);
  if (different == present) return dropped("every value differs", true);
  return dropped(cat(different, " different texts in ", present, " cells"), true);
}

// Why a column of many numbers, or dates, is taken for text.
template <class Reads>
std::string words_among(const char* what, int64_t cells, const ColumnProfile& profile, const Reads& reads) {
  const ColumnProfile::Value* most = nullptr;
  int64_t words = 0;
  for (const ColumnProfile::Value& value : profile.values) {
    if (reads(value.text)) continue;
    ++words;
    if (!most || value.count > most->count) most = &value;
  }
  return cat(what, " in ", share_of_rows(cells, profile.rows()), ", where 95 % make a column of ", what,
             ": taken as text for ", words == 1 ? "" : cat(words, " others, most often "), "\"",
             shortened(most->text), "\" (", share_of_rows(most->count, profile.rows()),
             "); if that means no value, name it as missing (--missing)");
}

// The first of such dates.
std::string_view first_of(DateStyle style, const ColumnProfile& profile) {
  const auto found = std::ranges::find_if(
      profile.values, [&](const auto& value) { return read_moment(value.text, style).has_value(); });
  return found == profile.values.end() ? std::string_view() : found->text;
}

std::string doubt_of(DateStyle style, const ColumnProfile& profile) {
  if (style != DateStyle::kDayFirst && style != DateStyle::kMonthFirst) return {};
  const bool month_first = style == DateStyle::kMonthFirst;
  const DateStyle other = month_first ? DateStyle::kDayFirst : DateStyle::kMonthFirst;
  const auto is = [](DateStyle read) {
    return [read](std::string_view text) { return read_moment(text, read).has_value(); };
  };
  if (profile.count(is(style)) > profile.count(is(other))) return {};
  const std::string_view first = first_of(style, profile);
  const size_t mark = first.find_first_of("/.-");
  const std::string between(1, mark < first.size() ? first[mark] : '/');
  return cat("no day is above 12, so that 2", between, "3", between, "2022 is read as ",
             month_first ? "month 2, day 3" : "day 2, month 3",
             ", and may be the other way; dates that begin with the year, 2022-02-03, leave no doubt");
}

}  // namespace

DateCount most_dates(const ColumnProfile& profile) {
  const auto dates = [&](DateStyle style) {
    return profile.count([&](std::string_view text) { return read_moment(text, style).has_value(); });
  };
  const int64_t iso = dates(DateStyle::kIso);
  if (nearly_all(iso, profile)) return {DateStyle::kIso, iso};
  // No date that begins with its year is one of these.
  const int64_t named = dates(DateStyle::kMonthName);
  if (nearly_all(iso + named, profile)) return {DateStyle::kMonthName, iso + named};
  const int64_t day_first = dates(DateStyle::kDayFirst), month_first = dates(DateStyle::kMonthFirst);
  const int64_t civil = std::max(day_first, month_first);
  if (civil == 0 || civil < named) return {named > 0 ? DateStyle::kMonthName : DateStyle::kIso, iso + named};
  const std::string_view first = first_of(DateStyle::kDayFirst, profile);
  const bool points = first.find('.') < first.find_first_of("/-");
  return {day_first > month_first || (day_first == month_first && points) ? DateStyle::kDayFirst
                                                                          : DateStyle::kMonthFirst,
          iso + civil};
}

std::string words_among_dates(const ColumnProfile& profile) {
  const DateCount dates = most_dates(profile);
  const bool many = dates.cells > 0 && 2 * dates.cells >= profile.present();
  if (!many || nearly_all(dates.cells, profile)) return {};
  return words_among("dates", dates.cells, profile,
                     [&](std::string_view text) { return read_date(text, dates.style).has_value(); });
}

std::string date_mix(const ColumnProfile& profile, DateStyle style, bool shown) {
  if (style == DateStyle::kIso || style == DateStyle::kSeconds || style == DateStyle::kMilliseconds)
    return {};
  const auto cells = [&](DateStyle of) {
    return profile.count([&](std::string_view text) { return read_moment(text, of).has_value(); });
  };
  const int64_t iso = cells(DateStyle::kIso), own = cells(style);
  if (iso == 0 || own == 0 || espalier::nearly_all(iso, iso + own) || espalier::nearly_all(own, iso + own))
    return {};
  const auto as = [&](DateStyle of) {
    return shown ? cat(", as \"", shortened(first_of(of, profile)), "\"") : std::string();
  };
  return cat("dates that begin with the year in ", iso, iso == 1 ? " cell" : " cells", as(DateStyle::kIso),
             ", and ones of another form in ", own, as(style));
}

std::optional<DateStyle> date_style(const std::string& name, const ColumnProfile& profile) {
  if (const DateCount most = most_dates(profile); nearly_all(most.cells, profile)) return most.style;
  const std::string word = lower(name);
  const bool named = word.find("timestamp") != word.npos || word.find("unix") != word.npos ||
                     word.find("epoch") != word.npos;
  if (!named && !named_like_a_time(word)) return std::nullopt;
  // Seconds of the years 1973 to 2286; of names that may mean else, 1990 to 2099.
  const double first = named ? 1e8 : 631152000, last = named ? 1e10 : 4102444800;
  const auto within = [&](double unit) {
    return nearly_all(profile.count([&](std::string_view text) {
      const std::optional<double> value = read_number(text, NumberStyle::kPlain);
      return value && *value >= first * unit && *value < last * unit;
    }),
                      profile);
  };
  if (within(1)) return DateStyle::kSeconds;
  if (within(1000)) return DateStyle::kMilliseconds;
  return std::nullopt;
}

std::string date_doubt(const std::string& name, const ColumnProfile& profile) {
  const std::optional<DateStyle> style = date_style(name, profile);
  return style ? doubt_of(*style, profile) : "";
}

ColumnGuess guess_column(const std::string& name, bool nameless, bool included,
                         const ColumnProfile& profile) {
  if (profile.present() == 0) return dropped("no cell holds a value");
  if (!included && static_cast<double>(profile.missing) > kMostMissing * static_cast<double>(profile.rows()))
    return dropped(cat(share_of_rows(profile.missing, profile.rows()), " of its cells hold no value"));
  if (!included && profile.different() == 1 && profile.missing == 0)
    return dropped(cat("every cell is \"", shortened(profile.values[0].text), "\""));
  const int64_t truths = profile.count([](std::string_view text) { return read_truth(text).has_value(); });
  if (truths == profile.present() && profile.different() > 1) return {.kind = ColumnKind::kBoolean};
  if (const auto style = date_style(name, profile); style && profile.different() > 1) {
    std::string hint = date_mix(profile, *style);
    if (!hint.empty()) hint += ": all are read as dates";
    if (const std::string doubt = doubt_of(*style, profile); !doubt.empty())
      hint += cat(hint.empty() ? "" : "; of those ", doubt);
    return {.kind = ColumnKind::kDate, .dates = *style, .hint = std::move(hint)};
  }
  const FormCount numbers = number_form(profile);
  if (nearly_all(numbers.cells, profile) && !holds_codes(profile))
    return guess_number(name, nameless, included, profile, numbers.form);
  ColumnGuess out = guess_text(included, profile);
  out.hint = words_among_numbers(profile);
  if (out.hint.empty()) out.hint = words_among_dates(profile);
  return out;
}

bool holds_codes(const ColumnProfile& profile) {
  if (profile.count(has_leading_zero) == 0) return false;
  bool one_width = true, all_begin = true;
  size_t width = 0;
  for (const ColumnProfile::Value& value : profile.values) {
    if (value.text.find_first_not_of("0123456789") != std::string_view::npos) continue;
    one_width &= width == 0 || width == value.text.size();
    width = value.text.size();
    all_begin &= has_leading_zero(value.text);
  }
  return one_width || all_begin;
}

std::string words_among_numbers(const ColumnProfile& profile) {
  const FormCount numbers = number_form(profile);
  const bool many = numbers.cells > 0 && 2 * numbers.cells >= profile.present();
  if (!many || nearly_all(numbers.cells, profile) || holds_codes(profile)) return {};
  if (const std::string mix = unit_mix(profile, numbers); !mix.empty())
    return cat(mix, ": taken as text, for which unit those have is not known; write them alike");
  return words_among("numbers", numbers.cells, profile,
                     [&](std::string_view text) { return read_number(text, numbers.form).has_value(); });
}

std::string unit_mix(const ColumnProfile& profile, const FormCount& numbers, bool shown) {
  NumberForm form = numbers.form;
  for (const ColumnProfile::Value& value : profile.values) {
    if (!form.unit.empty()) break;
    if (!read_number(value.text, form)) form.unit = unit_of(value.text);
  }
  if (form.unit.empty()) return {};
  struct Cells {
    int64_t count = 0;
    std::string_view first = {};
  };
  Cells with, without;
  int64_t zeros = 0;
  for (const ColumnProfile::Value& value : profile.values) {
    const std::optional<double> number = read_number(value.text, form);
    if (number == 0) zeros += value.count;
    if (!number || *number == 0) continue;
    Cells& cells = lacks_unit(value.text, form) ? without : with;
    if (cells.count == 0) cells.first = value.text;
    cells.count += value.count;
  }
  const int64_t both = with.count + without.count;
  if (!nearly_all(both + zeros, profile) || espalier::nearly_all(with.count, both) ||
      espalier::nearly_all(without.count, both))
    return {};
  const auto as = [&](const Cells& cells) {
    return shown ? cat(", as \"", shortened(cells.first), "\"") : std::string();
  };
  return cat("numbers in ", form.unit, " in ", with.count, with.count == 1 ? " cell" : " cells", as(with),
             ", and without a unit in ", without.count, as(without));
}

std::string read_alike(const std::string& mix, const NumberForm& form) {
  return cat(mix, ": all are read as ", form.unit, "; where that is wrong, write them alike");
}

ColumnProfile numbers_alone(const ColumnProfile& profile) {
  const FormCount numbers = number_form(profile);
  if (numbers.cells == profile.present() || !nearly_all(numbers.cells, profile)) return profile;
  ColumnProfile out = profile;
  out.values.clear();
  std::vector<uint32_t> places(profile.values.size(), ColumnProfile::kMissing);
  for (size_t i = 0; i < profile.values.size(); ++i) {
    if (!read_number(profile.values[i].text, numbers.form)) continue;
    places[i] = static_cast<uint32_t>(out.values.size());
    out.values.push_back(profile.values[i]);
  }
  for (uint32_t& code : out.codes) {
    if (code != ColumnProfile::kMissing) code = places[code];
  }
  out.missing = profile.rows() - numbers.cells;
  return out;
}

ColumnGuess styled_column(const std::string& name, ColumnKind kind, const ColumnProfile& profile) {
  ColumnGuess out{.kind = kind};
  int64_t fitting = profile.present();
  if (kind == ColumnKind::kNumeric) {
    const FormCount numbers = number_form(profile);
    out.numbers = numbers.form;
    fitting = numbers.cells;
  } else if (kind == ColumnKind::kDate) {
    for (const DateStyle style : {DateStyle::kIso, DateStyle::kDayFirst, DateStyle::kMonthFirst,
                                  DateStyle::kMonthName, DateStyle::kSeconds}) {
      out.dates = style;
      fitting = profile.count([&](std::string_view text) { return read_moment(text, style).has_value(); });
      if (fitting > 0) break;
    }
    if (const auto style = date_style(name, profile)) out.dates = *style;
  } else if (kind == ColumnKind::kBoolean) {
    fitting = profile.count([](std::string_view text) { return read_truth(text).has_value(); });
    if (fitting < profile.present()) fitting = 0;
  }
  if (fitting == 0 && kind != ColumnKind::kDropped) {
    throw ValueError("columns.kind", cat("column \"", name, "\" is to be ", kind, ", but of its ",
                                         profile.present(), " values in the training rows ",
                                         kind == ColumnKind::kBoolean ? "not all are" : "none is"));
  }
  return out;
}

bool names_rows(const std::string& name, const ColumnProfile& profile) {
  return profile.different() == profile.present() && profile.present() >= kFewRows &&
         2 * profile.present() >= profile.rows() &&
         guess_column(name, name == "column_1", false, profile).kind == ColumnKind::kDropped;
}

}  // namespace espalier
