// Words for cells that hold no value: those that any table may use, and what a user and a schema make of
// them.
#pragma once

#include <string>
#include <vector>

#include "data/missing_words.h"

namespace espalier {

struct MissingChoice {
  std::vector<std::string> more = {}, fewer = {};
  std::string schema = {};

  // These words with `more` and without `fewer`. Raises ValueError[missing.word] for one to be without that
  // is none of them.
  std::vector<std::string> changed(std::vector<std::string> words) const;
  // Those of ColumnOptions, changed.
  std::vector<std::string> all() const;
  // The same, but for the words that a schema's domains list. Raises as read_message().
  MissingWords read() const;
  // As flags of the command.
  std::vector<std::string> words() const;
  // The same for a command that begins with these words: to `data stats`, `schema` and `validate` every word
  // is a value but those of --missing, the only one of these flags that they know.
  std::vector<std::string> words_for(const std::vector<std::string>& command) const;
};

}  // namespace espalier
