// The columns that rows of a table are parted by.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/missing_words.h"
#include "espalier/csv.h"
#include "evaluate/monk.h"
#include "evaluate/slices.h"
#include "format/expression.h"

namespace espalier {

// How a column is parted: at edges of numbers, or by tones of skin.
struct Buckets {
  std::vector<double> edges = {};
  std::optional<MonkGroups> tones = {};
};
// The names in "sex*age", in quotes where they hold signs of lists. Raises ValueError[names.quote].
std::vector<std::string> factors_of(const std::string& cross);
// "grade=7" of "grade=7.0": the name that a slice has by a column of numbers.
std::string with_plain_numbers(const std::string& slice);
// "sex*age" of these names.
std::string cross_of(const std::vector<std::string>& columns);

// By name, each read once; numbers that are equal, 7 and 7.0, are one value (EqualValues). All that it is
// made of outlives it.
class SliceColumns {
 public:
  // Beyond so many a column parts rows into crumbs.
  static constexpr size_t kMostValues = 50;

  // `conditions` are columns "yes" and "no" by their names.
  SliceColumns(const CsvTable& table, const std::vector<int64_t>& rows, const MissingWords& missing,
               const std::map<std::string, Buckets>& buckets,
               const std::map<std::string, Expression>& conditions)
      : table_(table), rows_(rows), missing_(missing), buckets_(buckets), conditions_(conditions) {}

  // Raises ValueError: csv.column, expression.*, evaluate.slice for more than 50 values or a condition with
  // the name of a column, evaluate.bucket for a cell that is no tone, or a column of which most cells are no
  // numbers, with the line of the first.
  const CategoryColumn* named(const std::string& name);
  // The columns of "sex*age". Raises what named() raises.
  std::vector<const CategoryColumn*> by(const std::string& cross);
  // Of the columns named so far, what to say of cells that count as missing for they are no numbers.
  const std::vector<std::string>& notes() const { return notes_; }
  // Edges for a column of more than a dozen numbers that is parted by each of them; nothing for others.
  // Raises what named() raises.
  std::string advice(const std::string& name);

 private:
  bool is_missing(std::string_view text, int64_t column) const;
  bool words_are_few(int64_t column) const;
  CategoryColumn words(const std::string& name, int64_t column) const;
  CategoryColumn answers(const std::string& name, const Expression& condition) const;
  CategoryColumn bucketed(const std::string& name, int64_t column, const Buckets& buckets);
  CategoryColumn tones(const std::string& name, int64_t column, MonkGroups groups) const;
  // Of each row, amounts with a unit or a decimal comma among them; NaN of missing cells and of others.
  std::vector<double> numbers(int64_t column) const;
  // "--bucket" with edges that part the numbers of the column into quarters; nothing where most are none.
  std::string quarters(const std::string& name, int64_t column) const;
  [[noreturn]] void refuse(const std::string& name, int64_t column, size_t values) const;

  const CsvTable& table_;
  const std::vector<int64_t>& rows_;
  const MissingWords missing_;
  const std::map<std::string, Buckets>& buckets_;
  const std::map<std::string, Expression>& conditions_;
  std::list<CategoryColumn> columns_;
  std::vector<std::string> notes_;
};

}  // namespace espalier
