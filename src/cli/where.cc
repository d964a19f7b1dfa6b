#include "cli/where.h"

namespace espalier::cli {

void add_where(CLI::App& verb, std::optional<Expression>& where) {
  verb.add_option_function<std::string>(
          "--where", [&where](const std::string& text) { where = Expression(text); },
          "Use only rows for which this expression is true (default: all rows), e.g. 'age >= 40 and sex = "
          "\"Female\"'; see "
          "docs/expressions.md")
      ->option_text("EXPRESSION");
}

}  // namespace espalier::cli
