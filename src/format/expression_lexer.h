// The words of an expression.
#pragma once

#include <string>
#include <vector>

namespace espalier {

struct ExpressionToken {
  enum class Kind { kNumber, kText, kName, kQuotedName, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  size_t at = 0;
  std::string text =
      {};  // without quotes; of a keyword in small letters; of a number the digits that it loses
  double number = 0;
  bool keyword = false;

  bool is(const char* word) const { return (kind == Kind::kSymbol || keyword) && text == word; }
};
// The last is kEnd. Raises FormatError[expression.syntax].
std::vector<ExpressionToken> expression_tokens(const std::string& text);

// For whoever wrote a,b and means a column: how the word around the byte `at` is written as one; "" where
// that begins the word, or the word is a number.
std::string column_of_signs_fix(std::string_view text, size_t at);

}  // namespace espalier
