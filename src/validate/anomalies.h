// Whether data is as its schema says: TensorFlow Data Validation's anomalies of statistics.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "validate/anomaly_reason.h"
#include "validate/feature_path.h"
#include "validate/text_diff.h"

namespace espalier {

// Statistics; those that are null are not compared with.
struct ValidateInputs {
  const tfmd::DatasetFeatureStatistics* statistics = nullptr;
  const tfmd::DatasetFeatureStatistics* previous = nullptr;                        // for drift
  const tfmd::DatasetFeatureStatistics* serving = nullptr;                         // for skew
  const tfmd::DatasetFeatureStatistics* previous_version = nullptr;                // for the number of rows
  std::optional<std::string> environment = {};                                     // one of the schema's
  std::map<tfmd::AnomalyInfo::Type, tfmd::AnomalyInfo::Severity> severities = {};  // ERROR unless named here
};

struct FeatureAnomaly {
  FeaturePath path;  // none for the data set
  AnomalyReasons reasons;
  tfmd::AnomalyInfo::Severity severity = tfmd::AnomalyInfo::ERROR;  // the worst of them
  std::vector<TextChange> fix;  // of the text of the part of the schema that says what this feature is like
};
struct Validation {
  bool data_missing = false;             // there are no rows, and nothing was looked at
  std::vector<FeatureAnomaly> features;  // in the order of their paths
  std::optional<FeatureAnomaly> dataset;
  std::vector<tfmd::DriftSkewInfo> measured;  // distances, whether anomalous or not

  bool has_errors() const;
};

// By its name, "SCHEMA_NEW_COLUMN". Raises ValueError[data.warn] with the nearest names.
tfmd::AnomalyInfo::Type anomaly_type(const std::string& name);

// Raises ValueError[validate.environment] for an environment that the schema does not list.
Validation validate(const tfmd::Schema& schema, const ValidateInputs& inputs);

// As TensorFlow Data Validation writes it.
tfmd::Anomalies anomalies_of(const Validation& validation, const tfmd::Schema& schema);

// The schema with the fixes of these features and, if `dataset`, of the data set; each fixed feature keeps
// `reason` in a comment of its annotation, "INT_TYPE_BIG_INT: reason", unless it is "".
tfmd::Schema fixed_schema(const tfmd::Schema& schema, const ValidateInputs& inputs,
                          const std::set<FeaturePath>& features, bool dataset, const std::string& reason);

}  // namespace espalier
