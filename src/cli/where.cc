#include "cli/where.h"

#include <nlohmann/json.hpp>

#include "base/format.h"

namespace espalier::cli {

void add_where(CLI::App& verb, std::optional<Expression>& where) {
  verb.add_option_function<std::string>(
          "--where", [&where](const std::string& text) { where = Expression(text); },
          "Use only rows for which this expression is true (default: all rows), e.g. 'age >= 40 and sex = "
          "\"Female\"'; see "
          "docs/expressions.md")
      ->option_text("EXPRESSION");
}

std::string text_of(const KeptRows& kept) {
  return cat("where ", kept.condition, ": ", kept.kept, " of ", kept.of, " rows",
             kept.missing ? cat(", without ", kept.missing, " of which the condition is missing") : "", "\n");
}

nlohmann::ordered_json json_of(const KeptRows& kept) {
  return {{"condition", kept.condition}, {"rows", kept.of}, {"kept", kept.kept}, {"missing", kept.missing}};
}

}  // namespace espalier::cli
