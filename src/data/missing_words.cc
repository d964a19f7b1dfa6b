#include "data/missing_words.h"

#include <algorithm>
#include <optional>

#include "base/digits.h"
#include "format/decimal.h"

namespace espalier {
namespace {

// 1234, 1234.5 or 1234,5. A comma before three digits may stand between thousands.
std::optional<double> number_of_word(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || (!is_digit(digits[0]) && digits[0] != '.' && digits[0] != ',')) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) return std::nullopt;
  if (const std::optional<double> number = parse_decimal(text)) return number;
  const size_t comma = text.find(',');
  return comma == text.npos || text.size() - comma == 4 ? std::nullopt : parse_decimal_comma(text);
}

}  // namespace

MissingWords::MissingWords(std::vector<std::string> words, const Values& values) : words_(std::move(words)) {
  for (const std::string& word : words_) {
    if (const std::optional<double> number = number_of_word(word)) numbers_of_words_.push_back(*number);
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
  if (first_[static_cast<unsigned char>(text[0])] &&
      std::find(words_.begin(), words_.end(), text) != words_.end())
    return true;
  return numbers() && is_one_of_numbers(text);
}

bool MissingWords::is_one_of_numbers(std::string_view text) const {
  const std::optional<double> number = number_of_word(text);
  return number && std::ranges::find(numbers_of_words_, *number) != numbers_of_words_.end();
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
