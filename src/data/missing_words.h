// Words of cells that hold no value. One that is a number stands for all that spell this number: -999 for
// -999.0, -999,00 and -9.99e2; not for digits behind a 0, which are a code: 099 is not 99.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// Copies share.
class MissingWords {
 public:
  // Of these words those that are values in a column, by its name, as a schema lists "NA" among countries.
  using Values = std::map<std::string, std::vector<std::string>>;

  MissingWords() = default;
  MissingWords(std::vector<std::string> words, const Values& values = {});
  MissingWords(std::initializer_list<std::string> words) : MissingWords(std::vector<std::string>(words)) {}

  // Those of the cells of a column.
  const MissingWords& of(std::string_view column) const;
  // Whatever column the cell is of.
  bool contains(std::string_view text) const;
  // Whether one of them is a number, as -999.
  bool numbers() const { return !numbers_of_words_.empty(); }
  const std::vector<std::string>& words() const { return words_; }
  Values values() const;

 private:
  bool is_one_of_numbers(std::string_view text) const;

  std::vector<std::string> words_;
  std::vector<double> numbers_of_words_;
  std::map<std::string, std::shared_ptr<const MissingWords>, std::less<>> of_;
  bool empty_ = false;
  bool first_[256] = {};  // of any word
};

}  // namespace espalier
