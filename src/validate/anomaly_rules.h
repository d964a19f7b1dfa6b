// What the rules of TensorFlow Data Validation find in one feature. Each changes the schema so that the data
// fits: that is its fix.
#pragma once

#include <optional>

#include "validate/anomaly_reason.h"
#include "validate/statistics_view.h"

namespace espalier {

// What data is compared with. Null where there is none.
struct Controls {
  const DatasetView* previous = nullptr;          // the data before, for drift
  const DatasetView* serving = nullptr;           // what the model serves, for skew
  const DatasetView* previous_version = nullptr;  // an earlier version of the same data
};

// The schema by itself: what contradicts itself or names what is not there.
AnomalyReasons check_specification(tfmd::Feature& feature, tfmd::Schema& schema);

// How many rows have it, how many values, how many different ones.
AnomalyReasons check_valency(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_shape(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_presence(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_unique(const FeatureView& view, tfmd::Feature& feature);

// Its values against its domain, whichever that is.
AnomalyReasons check_domain(const FeatureView& view, tfmd::Feature& feature, tfmd::Schema& schema);
AnomalyReasons check_bools(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_whole_numbers(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_real_numbers(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_images(const FeatureView& view, tfmd::Feature& feature);
AnomalyReasons check_language(const FeatureView& view, tfmd::Feature& feature);

// What TensorFlow Data Validation does not ask: limits in tags of the feature, of the mean, the standard
// deviation and the share of zeros of its numbers. CUSTOM_VALIDATION; the fix is the limit that the data has.
AnomalyReasons check_limits(const FeatureView& view, tfmd::Feature& feature);

// Features made of others, by the statistics that count what is missing of them.
AnomalyReasons check_sparse(const FeatureView& view, tfmd::SparseFeature& feature);
AnomalyReasons check_weighted(const FeatureView& view, tfmd::WeightedFeature& feature);

// Drift and skew; `measured` gets each distance, whether anomalous or not.
AnomalyReasons check_comparators(const FeatureView& view, const Controls& controls, tfmd::Feature& feature,
                                 tfmd::DriftSkewInfo& measured);

// The number of rows.
AnomalyReasons check_rows(const DatasetView& data, const Controls& controls,
                          tfmd::DatasetConstraints& constraints);

}  // namespace espalier
