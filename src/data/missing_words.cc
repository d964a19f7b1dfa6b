#include "data/missing_words.h"

#include <algorithm>

#include "format/decimal.h"

namespace espalier {

MissingWords::MissingWords(std::vector<std::string> words, const Values& values) : words_(std::move(words)) {
  for (const std::string& word : words_) {
    numbers_ = numbers_ || parse_decimal(word);
    if (word.empty()) {
      empty_ = true;
    } else {
      first_[static_cast<unsigned char>(word[0])] = true;
    }
  }
  for (const auto& [column, its] : values) {
    std::vector<std::string> left;
    for (const std::string& word : words_) {
      if (!std::ranges::count(its, word)) left.push_back(word);
    }
    if (left.size() < words_.size()) of_[column] = std::make_shared<MissingWords>(std::move(left));
  }
}

const MissingWords& MissingWords::of(std::string_view column) const {
  const auto found = of_.find(column);
  return found == of_.end() ? *this : *found->second;
}

bool MissingWords::contains(std::string_view text) const {
  if (text.empty()) return empty_;
  return first_[static_cast<unsigned char>(text[0])] &&
         std::find(words_.begin(), words_.end(), text) != words_.end();
}

MissingWords::Values MissingWords::values() const {
  Values out;
  for (const auto& [column, words] : of_) {
    for (const std::string& word : words_) {
      if (!std::ranges::count(words->words_, word)) out[column].push_back(word);
    }
  }
  return out;
}

}  // namespace espalier
