// Finding and making features and domains of a schema.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "validate/feature_path.h"

namespace espalier {

// Null where there is none. Features within features are sought by the steps of their path.
tfmd::Feature* find_feature(tfmd::Schema& schema, const FeaturePath& path);
tfmd::SparseFeature* find_sparse_feature(tfmd::Schema& schema, const FeaturePath& path);
tfmd::WeightedFeature* find_weighted_feature(tfmd::Schema& schema, const FeaturePath& path);
tfmd::StringDomain* find_string_domain(tfmd::Schema& schema, const std::string& name);
// The texts that a feature may be, its own or the shared ones that it names; null where the schema has none.
const tfmd::StringDomain* string_domain_of(const tfmd::Schema& schema, const tfmd::Feature& feature);

// A new one at the end, with the features that it is within where they are missing.
tfmd::Feature& add_feature(tfmd::Schema& schema, const FeaturePath& path);
// Of that name, or with the first number from 2 on behind it that is free.
tfmd::StringDomain& add_string_domain(tfmd::Schema& schema, const std::string& name);
// Takes it out of the schema and out of the features that name it.
void remove_string_domain(tfmd::Schema& schema, const std::string& name);

// Without an environment all features are in it. Raises ValueError[validate.environment] for one that the
// schema does not list.
void require_environment(const tfmd::Schema& schema, const std::optional<std::string>& environment);
bool is_in_environment(const tfmd::Schema& schema, const tfmd::Feature& feature,
                       const std::optional<std::string>& environment);

// Words that mean that a value is missing are values in the columns whose domain of texts, or of two words,
// lists them.
MissingWords with_domains(const MissingWords& words, const tfmd::Schema& schema);

// Stages of which validation takes no notice.
bool is_deprecated(const tfmd::Feature& feature);
bool is_deprecated(const tfmd::SparseFeature& feature);
bool is_deprecated(const tfmd::WeightedFeature& feature);

}  // namespace espalier
