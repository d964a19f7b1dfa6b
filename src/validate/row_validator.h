// Rows against a schema, one by one: what data that is on its way to a model is asked.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/column_steps.h"
#include "data/missing_words.h"
#include "validate/schema_tags.h"

namespace espalier {

struct RowOptions {
  std::optional<std::string> environment = {};  // one of the schema's
  MissingWords missing = {""};                  // words that mean that a cell is missing
  std::vector<std::string> passed_over = {};    // features of which nothing is asked, as the label
  RowPolicy policy = RowPolicy::kRefuse;        // of what neither feature nor schema says one
};

// How a cell can be wrong.
enum class RowRule : uint8_t { kMissing, kWhole, kNumber, kNan, kInfinite, kBelow, kAbove, kCategory };
inline constexpr std::string_view kRowRules[] = {"missing",  "no_whole_number", "no_number", "nan",
                                                 "infinite", "below",           "above",     "category"};
inline std::string_view name(RowRule rule) { return kRowRules[static_cast<size_t>(rule)]; }

struct CellFault {
  uint32_t feature = 0;  // of RowValidator::features()
  RowRule rule = RowRule::kMissing;
};

// What a feature of the schema asks of the cells of its column: immutable, found once.
struct RowFeature {
  enum class Kind : uint8_t { kAny, kWhole, kReal, kWholeText, kRealText, kTexts };
  std::string name;
  size_t column = 0;
  bool required = false;
  bool bools = false;  // numbers are 0 or 1
  Kind kind = Kind::kAny;
  bool allow_nan = true, allow_inf = true;
  int64_t least_whole = std::numeric_limits<int64_t>::min(), most_whole = std::numeric_limits<int64_t>::max();
  float least = -std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::infinity();
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> texts = {};  // of kTexts
  RowPolicy policy = RowPolicy::kRefuse;  // kDefault only with a value that is good
  std::string value = {};                 // in place of a bad cell; "": it is missing

  // "above 90", as it is said of cells.
  std::string text_of(RowRule rule) const;
};

// A schema, compiled for rows of a table with given columns. A cell is as TensorFlow Data Validation has it:
// INT is a whole number of 64 bits, FLOAT a number, nan and inf among them, in f32; domains of numbers, bools
// and texts hold, but for a domain with min_domain_mass below 1, which is open to other texts; a cell is
// required with min_fraction 1 or a shape. A missing word that a domain of texts lists is a value. Deprecated
// features and those of other environments are passed over. Thread-safe.
class RowValidator {
 public:
  // Raises ValueError: validate.environment; rows.column for a feature that must be in the data and has no
  // column, with the nearest one; rows.feature for one of other than one value a row, which no cell holds;
  // rows.default for a default that its own feature refuses. FormatError: schema.tag, expression.*,
  // rows.domain for a domain that the schema has not, rows.twice for two features of one name.
  RowValidator(const tfmd::Schema& schema, const std::vector<std::string>& columns,
               const RowOptions& options);

  // Adds what is wrong with a row; `cells` are all of its columns', without blanks and quotes around them.
  void check(std::span<const std::string_view> cells, std::vector<CellFault>& out) const;

  const std::vector<RowFeature>& features() const { return features_; }
  // Rules whose columns are there; and those that are left out because one is not.
  const std::vector<SchemaRule>& rules() const { return rules_; }
  const std::vector<SchemaRule>& rules_left_out() const { return left_out_; }
  // What becomes of rows that break a rule: there is no one cell to replace, so kDefault is kRefuse.
  RowPolicy rule_policy() const { return rule_policy_; }
  const ColumnTypes& types() const { return types_; }
  bool is_missing(std::string_view cell, const std::string& column) const {
    return missing_.of(column).contains(cell);
  }
  const MissingWords& missing() const { return missing_; }
  // Columns that the schema does not know.
  const std::vector<std::string>& new_columns() const { return new_columns_; }

 private:
  std::optional<RowRule> fault_of(const RowFeature& feature, std::string_view cell) const;

  MissingWords missing_;
  std::vector<RowFeature> features_;
  std::vector<SchemaRule> rules_, left_out_;
  RowPolicy rule_policy_ = RowPolicy::kRefuse;
  ColumnTypes types_;
  std::vector<std::string> new_columns_;
};

}  // namespace espalier
