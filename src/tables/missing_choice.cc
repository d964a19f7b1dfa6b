#include "tables/missing_choice.h"

#include <algorithm>

#include "base/format.h"
#include "base/listed_names.h"
#include "espalier/columns.h"
#include "espalier/error.h"
#include "validate/schema_parts.h"

namespace espalier {

std::vector<std::string> MissingChoice::changed(std::vector<std::string> words) const {
  words.insert(words.end(), more.begin(), more.end());
  for (const std::string& word : fewer) {
    if (!std::ranges::count(words, word))
      throw_unknown("missing.word", "word for a missing value", word, words);
    std::erase(words, word);
  }
  return words;
}

std::vector<std::string> MissingChoice::all() const { return changed(ColumnOptions().missing); }

MissingWords MissingChoice::read() const {
  return schema.empty() ? MissingWords(all()) : with_domains(all(), read_message<tfmd::Schema>(schema));
}

std::vector<std::string> MissingChoice::words() const {
  std::vector<std::string> out;
  if (!more.empty()) out.insert(out.end(), {"--missing", names_in_list(more)});
  if (!fewer.empty()) out.insert(out.end(), {"--not-missing", names_in_list(fewer)});
  if (!schema.empty()) out.insert(out.end(), {"--schema", schema});
  return out;
}

std::vector<std::string> MissingChoice::words_for(const std::vector<std::string>& command) const {
  const bool strict = command.size() > 1 && command[0] == "data" &&
                      (command[1] == "stats" || command[1] == "schema" || command[1] == "validate");
  return strict ? MissingChoice{.more = more}.words() : words();
}

}  // namespace espalier
