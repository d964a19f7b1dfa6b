// Column programs: rows of text to numeric tensors.
//
//     const CsvTable table = read_csv("people.csv");
//     const ColumnProgram columns = ColumnProgram::fit(table, training_rows, {.label = "income"});
//     const Tensor x = columns.inputs(table, training_rows), y = columns.labels(table, training_rows);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/csv.h"
#include "espalier/tensor.h"

namespace espalier {

struct ColumnStep;

// What a column holds. A dropped one is no input.
enum class ColumnKind { kNumeric, kCategory, kBoolean, kDate, kDropped };
// "numeric", "category", "boolean", "date", "dropped".
std::string_view name(ColumnKind kind);
// Raises ValueError[columns.kind].
ColumnKind column_kind_named(std::string_view name);

// What is learned: a class, or a number. The guess: classes for text, for true and false, and for at most 20
// different integers, each of which stands in five rows or more on average.
enum class ColumnTask { kGuess, kClassification, kRegression };

struct ColumnOptions {
  // The column to learn.
  std::string label = {};
  // Columns that are no inputs.
  std::vector<std::string> ignore = {};
  // Columns that are inputs even where fit would set them aside; their kinds are guessed.
  std::vector<std::string> include = {};
  // Kinds of columns that are not to be guessed.
  std::map<std::string, ColumnKind> kinds = {};
  // Cells that hold no value.
  std::vector<std::string> missing = {"",     "?",   "-",   "NA",   "N/A",  "n/a", "#N/A",
                                      "<NA>", "NaN", "nan", "null", "NULL", "None"};
  // By column those of `missing` that are values there.
  std::map<std::string, std::vector<std::string>> values = {};
  // The most frequent ones have an input each, all others share one.
  int64_t max_categories = 64;
  // Labels "x." are "x", as in UCI's adult.test.
  bool strip_label_dots = false;
  // Classes whose spellings differ in letter case (A to Z, À to Þ) and blanks alone are one, written as the
  // most frequent of them.
  bool merge_labels = false;
  ColumnTask task = ColumnTask::kGuess;
  // Called by fit: so many columns have been looked at.
  std::function<void(int64_t)> on_column = {};
};

// What somebody who gave a table should know about a column.
struct Note {
  std::string column;
  std::string text;
  bool warning = false;  // worth a look: set aside, perhaps a leak, few rows of a class
};
// "age: numeric, 17 to 90"
std::string to_string(const Note& note);

// What one application met; see ColumnProgram::inputs.
struct ColumnReport {
  struct Column {
    std::string name;
    int64_t missing = 0;         // cells without a value
    int64_t unreadable = 0;      // no number, date or truth value: count as missing
    int64_t other = 0;           // categories without an input of their own
    int64_t unmet = 0;           // of these: those that no training row had, as far as it is known
    int64_t other_line = 0;      // of the first of these, from 1
    double usual_other = 0;      // their share of the training rows
    int64_t line = 0;            // of the first unreadable cell, from 1
    std::string cell = {};       // which holds this, shortened
    std::string written = {};    // as training rows write a cell: "1234,5"; empty where any text will do
    int64_t bare = 0;            // numbers without the unit that nearly all of the training rows had
    int64_t bare_line = 0;       // of the first of these, from 1
    std::string bare_cell = {};  // which holds this
    int64_t beyond = 0;          // numbers and dates outside of the training rows' range
    std::string range = {};  // which is this: "17 to 90", "2019-02-01 to 2019-02-28"; empty when not known
  };
  std::vector<Column> columns;  // inputs only, in the order of the table that was fitted
  int64_t rows = 0;
  int64_t rows_beyond = 0;  // with such a number or date
  // [rows] whether one has such a number or date, or a category that no training row had. Of at most 10,000
  // rare ones of a column it is known which training had.
  std::vector<uint8_t> outside;
  // Whether the table's numbers have a point where those of the training rows have a comma, or the other way.
  bool other_point = false;
};

// Everything between the cells of a table and the tensors of a model, as data without code: fitted on
// training rows once, saved with the model, applied to any table with these columns. Immutable; copies share;
// thread-safe.
//
//   numeric   (x - mean) / scale with the training rows' mean and standard deviation, limited to [-10, 10];
//             of log(1 + x) where no value is negative and the skewness exceeds 2. Missing: the median.
//             Numbers may have marks between thousands (1,234.5, 1.234,5, 1'234.5, 1 234.5), decimal commas,
//             one of $ € £ ¥ ₹ % or a currency's code (EUR) before or behind them or a word behind them (70
//             kg) where nearly the whole column agrees; (12) is -12. A table whose first thousand rows have
//             numbers with a point and none with a comma where the training rows have commas, or the other
//             way, is read so; its CsvOptions::decimal counts more. Where all of them were 0 or 1, new cells
//             may be truths as of a boolean.
//   category  1 for its own input, 0 for the others; `other` is one of them, and `missing` where the
//             training rows had missing cells.
//   boolean   1 or 0 (true, yes, t, y; false, no, f, n, in any case); in new cells 1 and 0 too. Missing: the
//             more frequent one.
//   date      ISO 8601 (2024-02-29, 20240229, 2024-02-29T12:30:00Z); day or month first (29.2.2024, 2/29/24
//             2:30 PM; ISO 8601 too), as days above 12 tell, else day first with points between them and
//             month first otherwise, with a warning; or seconds or milliseconds since 1970 in a column named
//             so: year and day scaled; month, weekday and hour as sine and cosine. Of several offsets from
//             UTC the time is that of UTC; of one offset, or of one place that has summer time, it is the
//             time as written.
//
// Numeric, boolean and date columns whose training rows had missing cells have a further input, 1 for
// missing.
class ColumnProgram {
 public:
  // All rows of a table when absent.
  using Rows = std::optional<std::span<const int64_t>>;

  // Looks at `training_rows` alone. Sets aside, with a note: constants, identifiers, free text, columns
  // nearly without values, the label under another name. Raises ValueError: csv.column for names that the
  // table does not have, columns.rows for rows outside of the table, columns.label for rows without a label
  // (see labelled_rows) or labels that cannot be learned, columns.kind for a column that is not of the kind
  // given, columns.include for one to include that holds no value or is to be ignored, columns.none when no
  // input is left.
  static ColumnProgram fit(const CsvTable& table, std::span<const int64_t> training_rows,
                           const ColumnOptions& options, Location at = Location::here());

  // f32[rows, width()]. Columns are found by name, others than those fitted are passed over; by position
  // where one of the two tables has no names: as many columns, or one less without the label. Raises
  // ValueError[csv.column] that names the missing columns, columns.count, columns.rows.
  Tensor inputs(const CsvTable& table, Rows rows = {}, ColumnReport* report = nullptr,
                Location at = Location::here()) const;
  // [rows]: the names of the columns whose number or date lies outside of the training rows' range, whose
  // category no training row had, or whose cell cannot be read.
  std::vector<std::vector<std::string>> beyond(const CsvTable& table, Rows rows = {},
                                               Location at = Location::here()) const;
  // i32[rows] class numbers, or f32[rows, 1]: (y - label_mean()) / label_scale(), of log(1 + y) when
  // label_log(). Raises ValueError[columns.label] with the line of a label that is missing, unknown or no
  // number.
  Tensor labels(const CsvTable& table, Rows rows = {}, Location at = Location::here()) const;
  // Whether a table has the label column, by the rules of `inputs`; its rows whose label is not missing, all
  // of them without such a column.
  bool has_label(const CsvTable& table, Location at = Location::here()) const;
  std::vector<int64_t> labelled_rows(const CsvTable& table, Location at = Location::here()) const;
  // Whether columns are found by position: one of the two tables has no names.
  bool by_position(const CsvTable& table) const;
  // The names of all columns of the table that was fitted; none when it had none.
  std::vector<std::string> column_names() const;
  // Those from which inputs follow; others were set aside.
  std::vector<std::string> columns_read() const;
  // Those of a table's columns: its own, or, where they are found by position, those of the fitted table.
  std::vector<std::string> names_of(const CsvTable& table) const;
  // CsvNumbers::point of the table that was fitted: tables that do not tell are read alike where it is their
  // CsvOptions::decimal_in_doubt.
  char decimal() const;
  // Cells that hold no value, but for those of these words that are values in a column, by its name.
  const std::vector<std::string>& missing_words() const;
  std::map<std::string, std::vector<std::string>> value_words() const;

  bool classification() const;
  const std::string& label() const;
  // The classes' texts; numbers in their order, else sorted as text. Empty for regression.
  const std::vector<std::string>& classes() const;
  double label_mean() const;
  double label_scale() const;
  bool label_log() const;
  // What f32[rows, 1] outputs of a regression mean in the label's own unit. Raises StateError for a
  // classification.
  std::vector<double> label_values(std::span<const float> outputs, Location at = Location::here()) const;
  // The same of what a model says, within the labels of the training rows: beyond them it has seen nothing,
  // and the inverse of a logarithm makes a small mistake there a large one.
  std::vector<double> predicted_values(std::span<const float> outputs, Location at = Location::here()) const;
  // The same program with ColumnOptions::strip_label_dots as given.
  ColumnProgram with_strip_label_dots(bool strip) const;

  // Inputs of one row, one name each: "age", "age missing", "sex=Male", "sex=(other)", "date month sin".
  int64_t width() const;
  std::vector<std::string> feature_names() const;
  // How each of them follows from the cell x of its column: "(x - 38.5) / 13.6, at least -10, at most 10; x
  // is 37 where missing". Missing are missing_words(), but for
  // value_words(), and what is no number, date or truth value where the
  // column holds them.
  std::vector<std::string> feature_formulas() const;
  // The label's first, then the columns in order.
  const std::vector<Note>& notes() const;

  std::string to_json() const;
  // Raises FormatError[columns.json] with the field, for any bytes; text is at most 16 MiB.
  static ColumnProgram from_json(std::string_view text, Location at = Location::here());

  struct Data;

 private:
  friend const std::vector<ColumnStep>& steps_of(const ColumnProgram& program);
  explicit ColumnProgram(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// The rows of a table whose label is not missing. Raises ValueError[csv.column].
std::vector<int64_t> labelled_rows(const CsvTable& table, const ColumnOptions& options,
                                   Location at = Location::here());

}  // namespace espalier
