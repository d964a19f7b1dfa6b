// What a column program does with the cells of one column: plain data, one struct a kind.
//
// A step has
//   fields(self, visit)         what JSON holds of it
//   prepare()                   what follows from the fields; "" or what is wrong with them
//   width(), names(column)      its inputs
//   formulas()                  what each of them is of the cell x, for people who compute it elsewhere
//   read(cell, out)             writes the inputs of a cell over zeros
//   read_missing(out)           the same for a cell without a value
//   seen()                      the range of the training rows for people: "17 to 90"; "" when not known
//   written()                   how the training rows write a cell: "1234,5"; "" where any text will do
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"

namespace espalier {

struct Cell {
  const CsvTable& table;
  int64_t row, column;
  std::string_view text;
};
// kBeyond: read, and beyond what the training rows held. kOther: a category without an input of its own;
// kUnmet: that no training row had, too.
enum class CellOutcome { kRead, kBeyond, kUnreadable, kOther, kUnmet };

// How numbers are written: what stands between groups of three digits, and whether a comma is the point; or
// as times of day and durations, which are seconds.
enum class NumberStyle {
  kPlain,                    // 1234.5
  kThousands,                // 1,234.5
  kDecimalComma,             // 1.234,5
  kApostrophes,              // 1'234.5
  kSpaces,                   // 1 234.5
  kSpacesDecimalComma,       // 1 234,5
  kApostrophesDecimalComma,  // 1'234,5
  kClock                     // 14:30:00, 2:30 PM, 26:10:00, 1 day 02:03:04, PT1H30M
};
inline constexpr std::string_view kNumberStyles[] = {"plain",
                                                     "thousands",
                                                     "decimal comma",
                                                     "apostrophes",
                                                     "spaces",
                                                     "spaces, decimal comma",
                                                     "apostrophes, decimal comma",
                                                     "clock"};
// Such a number with a unit before or behind it, as $, % or kg; empty: none. Cells without it are read too.
struct NumberForm {
  NumberForm(NumberStyle style = NumberStyle::kPlain, std::string unit = {}, bool multiples = false)
      : style(style), unit(std::move(unit)), multiples(multiples) {}
  NumberStyle style;
  std::string unit;
  bool multiples;  // whether 9.6K is 9600, as multiple_of() has it

  bool plain() const { return style == NumberStyle::kPlain && unit.empty() && !multiples; }
};
// The power of ten that a letter behind a number counts: 3 of K and k, 6 of M, 9 of B and G, 12 of T; else 0.
int multiple_of(char letter);
// Within f32's range; a number in parentheses is negative. Nothing for other text.
std::optional<double> read_number(std::string_view text, const NumberForm& form);
// The canonical_decimal() of what read_number() reads, every digit of it.
std::optional<std::string> exact_number(std::string_view text, const NumberForm& form);
// The seconds of a time of day or of a duration: 14:30, 14:30:00.5, 2:30 PM, 26:10:00, 1 day 02:03:04,
// P1DT2H; nothing for other text.
std::optional<double> read_clock(std::string_view text);
// 1,234.5 for 1.234,5, and the other way.
NumberStyle other_point(NumberStyle style);
bool has_decimal_comma(NumberStyle style);
// Whether a text is a number with the one and none with the other.
bool shows_other_point(std::string_view text, const NumberForm& form);
bool is_whole(std::string_view text, const NumberForm& form);
// Whether a number of the form lacks its unit; 0 is the same in each.
bool lacks_unit(std::string_view text, const NumberForm& form);
// What stands around the digits of an amount: "$" in "$ 12", "-$1.50", "EUR" in "12 EUR", "kg" in "70 kg".
// Empty for all other text, and for words in front of the digits that are no currency.
std::string unit_of(std::string_view text);
// `text` without blanks, in small letters, and in one code of all that look the same (look_alike_key()): what
// two spellings of a word have in common.
std::string spelling_key(std::string_view text);
// In what two such spellings differ: "capitals or blanks", or "the codes of characters that look alike
// (U+00E4 and U+0061 U+0308)".
std::string spelling_difference(std::string_view a, std::string_view b);
// Each text that has the spelling_key() of one before it, behind that one; both live as long as `texts`.
std::vector<std::pair<std::string_view, std::string_view>> same_spellings(
    const std::vector<std::string_view>& texts);
// $ and %, other than kg and EUR.
bool is_symbol(std::string_view unit);
// Typographic apostrophes, minus signs and spaces as those of ASCII.
std::string plain_marks(std::string_view text);
// Full-width digits and marks, and the digits of Arabic, Persian, Devanagari and Bengali, as those of ASCII.
std::string ascii_digits(std::string_view text);
// Whether a byte of the text is none of ASCII.
bool has_high_bytes(std::string_view text);

// How dates are written.
enum class DateStyle { kIso, kSeconds, kMilliseconds, kDayFirst, kMonthFirst, kMonthName };
inline constexpr std::string_view kDateStyles[] = {"iso",       "seconds",     "milliseconds",
                                                   "day first", "month first", "month name"};
// A moment on the calendar and the clock of where it was written.
struct Moment {
  int64_t days = 0;                    // since 1970-01-01
  int64_t seconds = 0;                 // of the day
  double fraction = 0;                 // of a second
  std::optional<int64_t> offset = {};  // seconds that its clock is ahead of UTC, where it says so
  // Seconds since 1970: by UTC where it has an offset, else by its own clock.
  double instant() const;
};
// From 0001 to 9999; nothing for other text.
std::optional<Moment> read_moment(std::string_view text, DateStyle style);
// The same in a column of this style, where a date that begins with its year is as clear as one of them.
std::optional<Moment> read_date(std::string_view text, DateStyle style);
struct CivilDate {
  int64_t year = 1970;
  int month = 1, day = 1;
};
// By the Gregorian calendar. https://howardhinnant.github.io/date_algorithms.html
CivilDate civil_of_days(int64_t days);
// 2024-02-29.
std::string date_text(int64_t days);

// true, yes, t, y; false, no, f, n, in any case.
std::optional<bool> read_truth(std::string_view text);
// The same, and the numbers 1 and 0 (1.0, 0.0), as other programs write truths.
std::optional<bool> read_truth_or_bit(std::string_view text);

// What training rows held; infinite on a side that a program does not say.
struct SeenRange {
  static constexpr double kAny = std::numeric_limits<double>::infinity();
  double least = -kAny, most = kAny;
  bool contains(double value) const { return (value >= least) & (value <= most); }
};

struct NumericStep {
  NumberForm form = {};
  bool log = false;
  double median = 0;  // as written
  double mean = 0, scale = 1;
  bool indicator = false;
  SeenRange range = {};       // as written
  int64_t without_unit = -1;  // numbers of the training rows that lack the unit; -1 when not known

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("style", self.form.style, kNumberStyles);
    visit.optional("unit", self.form.unit);
    visit.optional("multiples", self.form.multiples);
    visit.optional("cells_without_unit", self.without_unit);
    visit("log", self.log);
    visit("median", self.median);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("indicator", self.indicator);
    visit.optional("least", self.range.least);
    visit.optional("most", self.range.most);
  }
  std::string prepare();
  int64_t width() const { return 1 + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  // A number of the form; where 0 and 1 alone trained a truth too, as 1 and 0. Nothing for other text.
  std::optional<double> value_of(std::string_view text) const;
  CellOutcome read(const Cell& cell, float* out) const;
  // The same for digits alone; kUnreadable for whatever else a number can look like.
  CellOutcome read_plain(const CsvTable& table, int64_t row, int64_t column, float* out) const;
  void read_missing(float* out) const;
  std::string seen() const;
  std::string written() const;
  float scaled(double value) const;

  bool bits = false;  // whether 0 and 1 alone trained; by prepare()
};

struct CategoryStep {
  std::vector<std::string> categories;
  double other = 1;       // the share of the training rows' cells that are none of them; 1 when not known
  std::string rare = {};  // the hash_list() of hash_text() of these; empty when not known
  bool indicator = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("categories", self.categories);
    visit.optional("other", self.other);
    visit.optional("rare", self.rare);
    visit("indicator", self.indicator);
  }
  std::string prepare();
  // The categories, other, and missing when there is an indicator.
  int64_t width() const { return static_cast<int64_t>(categories.size()) + 1 + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;
  std::string seen() const { return {}; }
  std::string written() const { return {}; }

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places;
  std::vector<uint64_t> rare_hashes;
};

struct BooleanStep {
  bool often = false;  // what missing cells are taken for
  bool indicator = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("often", self.often);
    visit("indicator", self.indicator);
  }
  std::string prepare() { return {}; }
  int64_t width() const { return 1 + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;
  std::string seen() const { return {}; }
  std::string written() const { return "true or false"; }
};

struct DateStep {
  DateStyle style = DateStyle::kIso;
  bool hours = false;          // whether the time of the day is an input
  double mean = 0, scale = 1;  // of the years
  bool indicator = false;
  SeenRange range = {};  // in days since 1970-01-01
  // Seconds that the clock of all dates is ahead of UTC; infinite where each is told by its own.
  double offset = SeenRange::kAny;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("style", self.style, kDateStyles);
    visit("hours", self.hours);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("indicator", self.indicator);
    visit.optional("first_day", self.range.least);
    visit.optional("last_day", self.range.most);
    visit.optional("offset", self.offset);
  }
  std::string prepare();
  int64_t width() const { return 6 + 2 * hours + indicator; }
  // A date of the style, by the clock of all where its offset from UTC is known. Nothing for other text.
  std::optional<Moment> moment_of(std::string_view text) const;
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;
  std::string seen() const;
  std::string written() const;
};

// How many cells of the training rows were read, were not of the kind, held no value; -1 when not known.
struct SeenCells {
  int64_t read = -1, unread = -1, missing = -1;

  int64_t present() const { return read + unread; }
  int64_t rows() const { return present() + missing; }
  bool known() const { return read >= 0 && unread >= 0 && missing >= 0; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.optional("cells_read", self.read);
    visit.optional("cells_unread", self.unread);
    visit.optional("cells_missing", self.missing);
  }
};

struct ColumnStep {
  std::string column = {};
  std::variant<NumericStep, CategoryStep, BooleanStep, DateStep> how;
  SeenCells cells = {};
  int64_t width() const {
    return std::visit([](const auto& step) { return step.width(); }, how);
  }
};
// In the order of the variant.
inline constexpr ColumnKind kStepKinds[] = {ColumnKind::kNumeric, ColumnKind::kCategory, ColumnKind::kBoolean,
                                            ColumnKind::kDate};

struct LabelStep {
  std::string column;
  bool classification = true;
  std::vector<std::string> classes;
  bool whole_numbers = false;  // classes are written as whole numbers: 1, 1.0 and 01 are one
  bool strip_dots = false;
  bool merge = false;  // texts of one spelling_key() are one class
  NumberForm form = {};
  bool log = false;
  double mean = 0, scale = 1;
  double least = 0, most = 0;  // of the training rows

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("column", self.column);
    visit("classification", self.classification);
    if (self.classification) {
      visit("classes", self.classes);
      visit("whole_numbers", self.whole_numbers);
      visit("strip_dots", self.strip_dots);
      visit.optional("merge", self.merge);
    } else {
      visit("style", self.form.style, kNumberStyles);
      visit.optional("unit", self.form.unit);
      visit.optional("multiples", self.form.multiples);
      visit("log", self.log);
      visit("mean", self.mean);
      visit("scale", self.scale);
      visit("least", self.least);
      visit("most", self.most);
    }
  }
  std::string prepare();
  // The cell as a class is written, without the dot that may be stripped.
  std::string class_text(std::string_view text) const;
  // What must be equal for two such texts to be one class.
  std::string class_key(const std::string& text) const;
  // The number of a class; nothing for an unknown one.
  std::optional<int32_t> class_of(std::string_view text) const;
  // In units of the label's deviation. The logarithm of a number below 0, which no training row has, is
  // that of its size with its sign: such a row is evaluated as any other.
  std::optional<double> scaled(std::string_view text) const;
  double unscaled(double output) const;

  std::unordered_map<std::string, int32_t> places;
};

struct ColumnProgram::Data {
  std::vector<std::string> columns;  // all of the table that was fitted
  bool numbered = false;             // their names are invented
  char decimal = 0;                  // CsvNumbers::point of that table
  MissingWords missing;
  LabelStep label;
  std::vector<ColumnStep> steps;
  std::vector<Note> notes;
};

// What a program does with the cells of each column that it reads; as long as the program lives.
const std::vector<ColumnStep>& steps_of(const ColumnProgram& program);

}  // namespace espalier
