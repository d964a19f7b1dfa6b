#include <algorithm>

#include "data/column_steps.h"
#include "format/decimal.h"

namespace espalier {

MissingWords::MissingWords(std::vector<std::string> words) : words_(std::move(words)) {
  for (const std::string& word : words_) {
    numbers_ = numbers_ || parse_decimal(word);
    if (word.empty()) {
      empty_ = true;
    } else {
      first_[static_cast<unsigned char>(word[0])] = true;
    }
  }
}

bool MissingWords::contains(std::string_view text) const {
  if (text.empty()) return empty_;
  return first_[static_cast<unsigned char>(text[0])] &&
         std::find(words_.begin(), words_.end(), text) != words_.end();
}

namespace {
constexpr std::string_view kKindNames[] = {"numeric", "category", "boolean", "date", "dropped"};
}

std::string_view name(ColumnKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

ColumnKind column_kind_named(std::string_view wanted) {
  const auto found = std::find(std::begin(kKindNames), std::end(kKindNames), wanted);
  if (found == std::end(kKindNames))
    throw_unknown("columns.kind", "kind of column", wanted, {std::begin(kKindNames), std::end(kKindNames)});
  return static_cast<ColumnKind>(found - std::begin(kKindNames));
}

}  // namespace espalier
