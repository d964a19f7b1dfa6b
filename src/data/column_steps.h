// What a column program does with the cells of one column: plain data, one struct a kind.
//
// A step has
//   fields(self, visit)         what JSON holds of it
//   prepare()                   what follows from the fields; "" or what is wrong with them
//   width(), names(column)      its inputs
//   formulas()                  what each of them is of the cell x, for people who compute it elsewhere
//   read(cell, out)             writes the inputs of a cell over zeros
//   read_missing(out)           the same for a cell without a value
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "espalier/columns.h"

namespace espalier {

struct Cell {
  const CsvTable& table;
  int64_t row, column;
  std::string_view text;
};
enum class CellOutcome { kRead, kUnreadable, kOther };

// How numbers are written: 1234.5, 1,234.5 or 1234,5 (also 1.234,5).
enum class NumberStyle { kPlain, kThousands, kDecimalComma };
inline constexpr std::string_view kNumberStyles[] = {"plain", "thousands", "decimal comma"};
// Such a number with a unit before or behind it, as $ or %; empty: none. Cells without it are read too.
struct NumberForm {
  NumberForm(NumberStyle style = NumberStyle::kPlain, std::string unit = {})
      : style(style), unit(std::move(unit)) {}
  NumberStyle style;
  std::string unit;
};
// Within f32's range; nothing for other text.
std::optional<double> read_number(const Cell& cell, const NumberForm& form);
std::optional<double> read_number(std::string_view text, const NumberForm& form);
bool is_whole(std::string_view text, const NumberForm& form);
// What stands around the digits of an amount: "$" in "$ 12", "-$1.50"; empty for all that is none of the
// known units.
std::string_view unit_of(std::string_view text);

// How dates are written.
enum class DateStyle { kIso, kSeconds, kMilliseconds, kDayFirst, kMonthFirst };
inline constexpr std::string_view kDateStyles[] = {"iso", "seconds", "milliseconds", "day first",
                                                   "month first"};
// A moment on a calendar without zones.
struct Moment {
  int64_t days = 0;     // since 1970-01-01
  int64_t seconds = 0;  // of the day
};
// From 0001 to 9999; nothing for other text.
std::optional<Moment> read_moment(std::string_view text, DateStyle style);
struct CivilDate {
  int64_t year = 1970;
  int month = 1, day = 1;
};
// By the Gregorian calendar. https://howardhinnant.github.io/date_algorithms.html
CivilDate civil_of_days(int64_t days);

// true, yes, t, y; false, no, f, n, in any case.
std::optional<bool> read_truth(std::string_view text);

struct NumericStep {
  NumberForm form = {};
  bool log = false;
  double median = 0;  // as written
  double mean = 0, scale = 1;
  bool indicator = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("style", self.form.style, kNumberStyles);
    visit("unit", self.form.unit);
    visit("log", self.log);
    visit("median", self.median);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("indicator", self.indicator);
  }
  std::string prepare();
  int64_t width() const { return 1 + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;
  float scaled(double value) const;
};

struct CategoryStep {
  std::vector<std::string> categories;
  double other = 0;  // the share of the training rows' cells that are none of them
  bool indicator = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("categories", self.categories);
    visit("other", self.other);
    visit("indicator", self.indicator);
  }
  std::string prepare();
  // The categories, other, and missing when there is an indicator.
  int64_t width() const { return static_cast<int64_t>(categories.size()) + 1 + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places;
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
};

struct DateStep {
  DateStyle style = DateStyle::kIso;
  bool hours = false;          // whether the time of the day is an input
  double mean = 0, scale = 1;  // of the years
  bool indicator = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("style", self.style, kDateStyles);
    visit("hours", self.hours);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("indicator", self.indicator);
  }
  std::string prepare();
  int64_t width() const { return 6 + 2 * hours + indicator; }
  std::vector<std::string> names(const std::string& column) const;
  std::vector<std::string> formulas() const;
  CellOutcome read(const Cell& cell, float* out) const;
  void read_missing(float* out) const;
};

struct ColumnStep {
  std::string column = {};
  std::variant<NumericStep, CategoryStep, BooleanStep, DateStep> how;
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
    } else {
      visit("style", self.form.style, kNumberStyles);
      visit("unit", self.form.unit);
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
  // The number of a class; nothing for an unknown one.
  std::optional<int32_t> class_of(std::string_view text) const;
  // In units of the label's deviation.
  std::optional<double> scaled(std::string_view text) const;
  double unscaled(double output) const;

  std::unordered_map<std::string, int32_t> places;
};

// The words for no value.
class MissingWords {
 public:
  MissingWords() = default;
  explicit MissingWords(std::vector<std::string> words);
  bool contains(std::string_view text) const;
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  bool empty_ = false;
  bool first_[256] = {};  // of any word
};

struct ColumnProgram::Data {
  std::vector<std::string> columns;  // all of the table that was fitted
  bool numbered = false;             // their names are invented
  MissingWords missing;
  LabelStep label;
  std::vector<ColumnStep> steps;
  std::vector<Note> notes;
};

}  // namespace espalier
