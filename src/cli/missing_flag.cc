#include "cli/missing_flag.h"

#include <algorithm>

#include "base/format.h"
#include "base/listed_names.h"
#include "cli/data_verbs.h"
#include "espalier/columns.h"
#include "espalier/error.h"
#include "validate/schema_parts.h"

namespace espalier::cli {

void MissingFlag::add(CLI::App& verb) {
  std::string known;
  for (const std::string& word : ColumnOptions().missing)
    known += cat(known.empty() ? "" : ", ", word.empty() ? "an empty cell" : word);
  verb.add_option_function<std::vector<std::string>>(
          "--missing", [this](const std::vector<std::string>& given) { more = comma_separated(given); },
          cat("More words that mean a missing cell, comma-separated; a number stands for all its spellings. "
              "Known words: ",
              known))
      ->allow_extra_args(false)
      ->option_text("WORD,...");
  verb.add_option_function<std::vector<std::string>>(
          "--not-missing", [this](const std::vector<std::string>& given) { fewer = comma_separated(given); },
          "Words that are values, not missing cells, e.g. NA for Namibia; comma-separated")
      ->allow_extra_args(false)
      ->option_text("WORD,...");
}

void MissingFlag::add_with_schema(CLI::App& verb) {
  add(verb);
  verb.add_option("--schema", schema,
                  "Schema whose domains list the values of columns: words in a domain are values of its "
                  "column, never "
                  "missing cells")
      ->option_text("FILE");
}

std::vector<std::string> MissingFlag::changed(std::vector<std::string> words) const {
  words.insert(words.end(), more.begin(), more.end());
  for (const std::string& word : fewer) {
    if (!std::ranges::count(words, word))
      throw_unknown("missing.word", "word for a missing value", word, words);
    std::erase(words, word);
  }
  return words;
}

std::vector<std::string> MissingFlag::all() const { return changed(ColumnOptions().missing); }

MissingWords MissingFlag::read() const {
  return schema.empty() ? MissingWords(all()) : with_domains(all(), read_message<tfmd::Schema>(schema));
}

std::vector<std::string> MissingFlag::words() const {
  std::vector<std::string> out;
  if (!more.empty()) out.insert(out.end(), {"--missing", names_in_list(more)});
  if (!fewer.empty()) out.insert(out.end(), {"--not-missing", names_in_list(fewer)});
  if (!schema.empty()) out.insert(out.end(), {"--schema", schema});
  return out;
}

std::vector<std::string> MissingFlag::words_for(const std::vector<std::string>& command) const {
  const bool strict = command.size() > 1 && command[0] == "data" &&
                      (command[1] == "stats" || command[1] == "schema" || command[1] == "validate");
  return strict ? MissingFlag{.more = more}.words() : words();
}

}  // namespace espalier::cli
