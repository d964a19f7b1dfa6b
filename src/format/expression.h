// Conditions on the rows of a table, as people write them: `age >= 40 and sex = "Female"`.
// docs/expressions.md has the language.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/csv.h"

namespace espalier {

struct ExpressionNode;

// Immutable; copies share.
class Expression {
 public:
  // Raises FormatError with the place: expression.syntax, expression.function for a name or a number of
  // arguments that no function has, expression.size beyond 64 KiB or 64 levels of parentheses.
  explicit Expression(const std::string& text);

  // As it was written.
  const std::string& text() const { return text_; }
  // The same for all texts that mean the same up to blanks, quotes, parentheses that change nothing and the
  // spelling of numbers and operators. It reads back to itself.
  std::string canonical() const;
  // The names of the columns it reads, each once, in the order of the text.
  std::vector<std::string> columns() const;
  const ExpressionNode& root() const { return *root_; }

 private:
  std::string text_;
  std::shared_ptr<const ExpressionNode> root_;
};

// How messages name a column: "age", or as expressions have it, `age, years`, where it must be quoted there.
std::string column_in_message(const std::string& name);

// What a condition is of a row. What follows from a missing value is missing, unless the rest decides it:
// false and missing is false, true or missing is true.
enum class Truth : uint8_t { kFalse, kTrue, kMissing };

// Whether the text of a cell of this column says that there is no value.
using IsMissing = std::function<bool(std::string_view cell, const std::string& column)>;

// What a column is, whatever its cells are: cells of a column of numbers that are none are missing.
enum class ColumnType { kByCells, kNumber, kText };
using ColumnTypes = std::function<ColumnType(const std::string& name)>;

// What the cells of a column of text mean, by its number in the table; nothing where they mean no such thing.
// They are asked where a column of text meets numbers, or where texts are compared.
struct CellMeanings {
  struct Amounts {
    std::vector<double> of;    // "$ 1,200"; NaN where missing, or no amount
    int64_t first_other = -1;  // the row of the first cell that is no amount
  };
  // One side of a comparison: a column, or a text.
  struct Side {
    int64_t column = -1;
    std::string_view text = {};
  };
  // Both sides as numbers in the order of time: of a column of each row, NaN where missing, of a text one.
  struct Times {
    std::vector<double> a, b;
  };
  std::function<std::optional<Amounts>(int64_t column)> amounts;
  // Nothing where they are compared as texts. `orders`: which of them comes first is asked. Raises ValueError
  // where that is not known.
  std::function<std::optional<Times>(const Side& a, const Side& b, bool orders)> times;
};

// [rows]. Unless `types` says what a column is, it is of numbers where each cell is a number or missing,
// else of text. Raises ValueError with the place in the expression: expression.column with nearest names,
// expression.type for what is no condition or does not fit, with the cell that makes a column text.
std::vector<Truth> truths(const Expression& condition, const CsvTable& table, const IsMissing& is_missing,
                          const ColumnTypes& types = {}, const CellMeanings& meanings = {});

}  // namespace espalier
