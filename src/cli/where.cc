#include "cli/where.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "data/table_truths.h"

namespace espalier::cli {

void add_where(CLI::App& verb, std::optional<Expression>& where) {
  verb.add_option_function<std::string>(
          "--where", [&where](const std::string& text) { where = Expression(text); },
          "Only rows for which this is true, as 'age >= 40 and sex = \"Female\"'; docs/expressions.md")
      ->option_text("EXPRESSION");
}

KeptRows keep_rows(const Expression& condition, const CsvTable& table, std::vector<int64_t>& rows,
                   const std::vector<std::string>& missing_words) {
  KeptRows out{.condition = condition.canonical(), .of = std::ssize(rows)};
  const std::vector<Truth> all = table_truths(condition, table, missing_words);
  std::erase_if(rows, [&](int64_t row) {
    const Truth truth = all[static_cast<size_t>(row)];
    out.missing += truth == Truth::kMissing;
    return truth != Truth::kTrue;
  });
  out.kept = std::ssize(rows);
  if (rows.empty()) {
    throw ValueError("where.rows", cat("no row is left: ", out.condition, " is false of ",
                                       out.of - out.missing, " rows and missing of ", out.missing));
  }
  return out;
}

std::string text_of(const KeptRows& kept) {
  return cat("where ", kept.condition, ": ", kept.kept, " of ", kept.of, " rows",
             kept.missing ? cat(", without ", kept.missing, " of which the condition is missing") : "", "\n");
}

nlohmann::ordered_json json_of(const KeptRows& kept) {
  return {{"condition", kept.condition}, {"rows", kept.of}, {"kept", kept.kept}, {"missing", kept.missing}};
}

}  // namespace espalier::cli
