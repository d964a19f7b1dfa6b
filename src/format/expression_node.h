// What an Expression is made of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "format/expression.h"

namespace espalier {

struct ExpressionNode {
  enum class Kind {
    kNumber,
    kText,
    kTruth,
    kColumn,
    kOr,
    kAnd,
    kNot,
    kCompare,  // =, !=, <, <=, >, >=
    kIn,       // the first child in the literals behind it
    kBetween,  // the first child from the second to the third
    kIsMissing,
    kArithmetic,  // +, -, *, /, %
    kNegate,
    kCall,
  };
  Kind kind = Kind::kNumber;
  size_t at = 0;          // its place in the text; of what stands between operands, that of the operator
  double number = 0;      // of kNumber
  bool truth = false;     // of kTruth
  std::string text = {};  // of kText; the name of a column or a function; the operator
  std::vector<ExpressionNode> children = {};
  size_t depth = 1;

  bool is_literal() const { return kind == Kind::kNumber || kind == Kind::kText; }
};

// The message, and below it the line of the text with a caret under the byte `at`.
std::string pointed_at(std::string_view text, size_t at, std::string_view message);

// How a name of a column is written in an expression: in backticks where it must be.
std::string column_in_expression(const std::string& name);
// Expression::canonical() of what the node is the root of.
std::string canonical(const ExpressionNode& root);
// Whether it is a word of the language, which is no column without backticks.
bool is_keyword(std::string_view word);

// What a function takes and gives. Numbers are NaN, texts null, where they are missing.
struct ExpressionFunction {
  std::string_view name;
  size_t arguments = 1;
  double (*of_number)(double) = nullptr;
  double (*of_numbers)(double, double) = nullptr;
  std::string (*of_text)(std::string_view) = nullptr;
  double (*number_of_text)(std::string_view) = nullptr;
  bool (*truth_of_texts)(std::string_view, std::string_view) = nullptr;
};
// Those without a function of values are of columns or of any type: number, text, coalesce.
const std::vector<ExpressionFunction>& expression_functions();

}  // namespace espalier
