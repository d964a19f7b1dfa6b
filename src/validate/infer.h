// What a schema should say of data, by the rules of TensorFlow Data Validation.
#pragma once

#include "validate/statistics_view.h"

namespace espalier {

struct InferOptions {
  int64_t most_values = 100;  // of a domain of texts; more, and it is none
  bool shapes = true;         // whether features that always have as many values get a shape
};

// A feature for each of the statistics, in their order: type, presence, shape or valency, domain. Of several
// data sets "All Examples" is taken. Raises FormatError[statistics.*].
tfmd::Schema infer_schema(const tfmd::DatasetFeatureStatisticsList& list, const InferOptions& options = {});

// Adds the feature and its domain, not those within it.
void infer_feature(const FeatureView& view, const InferOptions& options, tfmd::Schema& schema);
// And those within it.
void infer_features(const DatasetView& data, const FeatureView& view, const InferOptions& options,
                    tfmd::Schema& schema);

void infer_valency(const FeatureView& view, tfmd::Feature& feature);
// Gives a feature without a domain the one that the statistics name in "domain_info". False where they name
// none, or not exactly one.
bool take_named_domain(const FeatureView& view, tfmd::Feature& feature);
void mark_derived(const FeatureView& view, tfmd::Feature& feature);

}  // namespace espalier
