// What tensorflow_metadata has no field for: tags of annotations, as "espalier.policy=quarantine", which
// TensorFlow Data Validation reads and leaves alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/expression.h"
#include "validate/metadata_files.h"

namespace espalier {

// What becomes of a row whose cell is not as the schema says: the file is refused, the cell gets the value of
// "default", the row is set aside.
enum class RowPolicy { kRefuse, kDefault, kQuarantine };
inline constexpr std::string_view kRowPolicies[] = {"refuse", "default", "quarantine"};
inline std::string_view name(RowPolicy policy) { return kRowPolicies[static_cast<size_t>(policy)]; }

// Inclusive.
struct NumberLimits {
  std::optional<double> least = {}, most = {};
};

// policy, default; unit, role, favourable, scale, buckets; of the statistics of its numbers min_mean,
// max_mean, min_deviation, max_deviation, min_zeros, max_zeros (a share of the values).
struct FeatureTags {
  std::optional<RowPolicy> policy = {};   // that of the schema when not set
  std::optional<std::string> value = {};  // "default": what stands for a bad cell; without it none does
  NumberLimits mean = {}, deviation = {}, zeros = {};
  std::string unit = {};        // of its numbers, "USD"; of no consequence
  bool sensitive = false;       // "role=sensitive": models are evaluated by its values
  std::string favourable = {};  // of a label the value that is good for who has it
  bool monk = false;            // "scale=monk": tones of the Monk Skin Tone Scale, 1 to 10
  std::string buckets = {};     // how it is parted: edges, "18,25,45", or "monk" or "monk3"
};

// A condition that holds of every row: of those where it is missing, too.
struct SchemaRule {
  Expression condition;
  bool warning = false;  // said, and no mistake
};
// policy; rule and warning, any number of them.
struct SchemaTags {
  std::optional<RowPolicy> policy = {};
  std::vector<SchemaRule> rules = {};
};

// Other tags are passed over. Raises FormatError[schema.tag] for a tag "espalier." that says nothing, and for
// one that is said twice; FormatError[expression.*] with a caret for rules that are no conditions.
FeatureTags tags_of(const tfmd::Feature& feature);
SchemaTags tags_of(const tfmd::Schema& schema);

// What conditions take the columns of its features for; others are what their cells are.
ColumnTypes column_types(const tfmd::Schema& schema);
// Raises ValueError[expression.*] with a caret for a rule that does not fit the schema's features.
void check_rule(const tfmd::Schema& schema, const Expression& condition);

// The keys of tags of features; those of schemas are policy, rule and warning.
const std::vector<std::string>& feature_tags();
// Sets a tag in place of the one of this key, which goes when `value` is empty. Raises
// ValueError[schema_edit.value].
void set_tag(tfmd::Feature& feature, const std::string& key, const std::string& value);
void set_tag(tfmd::Schema& schema, const std::string& key, const std::string& value);
// Adds a rule, which the schema then has once. Raises as the constructor of Expression and check_rule().
void add_rule(tfmd::Schema& schema, const std::string& condition, bool warning);
// Raises ValueError[schema_edit.rule] where there is no such rule.
void drop_rule(tfmd::Schema& schema, const std::string& condition);

}  // namespace espalier
