#include "cli/missing_flag.h"

#include "base/format.h"
#include "cli/common.h"
#include "espalier/columns.h"
#include "tables/missing_choice.h"

namespace espalier::cli {

void add_missing(CLI::App& verb, MissingChoice& missing) {
  std::string known;
  for (const std::string& word : ColumnOptions().missing)
    known += cat(known.empty() ? "" : ", ", word.empty() ? "an empty cell" : word);
  verb.add_option_function<std::vector<std::string>>(
          "--missing",
          [&missing](const std::vector<std::string>& given) { missing.more = comma_separated(given); },
          cat("More words that mean a missing cell, comma-separated; a number stands for all its spellings. "
              "Known words: ",
              known))
      ->allow_extra_args(false)
      ->option_text("WORD,...");
  verb.add_option_function<std::vector<std::string>>(
          "--not-missing",
          [&missing](const std::vector<std::string>& given) { missing.fewer = comma_separated(given); },
          "Words that are values, not missing cells, e.g. NA for Namibia; comma-separated")
      ->allow_extra_args(false)
      ->option_text("WORD,...");
}

void add_missing_with_schema(CLI::App& verb, MissingChoice& missing) {
  add_missing(verb, missing);
  verb.add_option("--schema", missing.schema,
                  "Schema whose domains list the values of columns: words in a domain are values of its "
                  "column, never "
                  "missing cells")
      ->option_text("FILE");
}

}  // namespace espalier::cli
