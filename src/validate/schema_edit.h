// Changing schemas in words, as people ask for it on a command line.
#pragma once

#include <string>
#include <vector>

#include "validate/metadata_files.h"

namespace espalier {

// A feature is named as it is, or in quotes as lists name it: "a,b".policy=refuse.
struct SchemaEdits {
  // FEATURE.FIELD=VALUE. A field is named as in the schema's text, "presence.min_fraction", or by a short
  // name: min, max (of the domain that fits the type), min_count, min_fraction, min_domain_mass,
  // least_values, most_values, least_unique, most_unique, drift, drift_jensen_shannon, drift_difference, the
  // same with skew, lifecycle, disallow_nan, disallow_inf. No value clears it; a list gets one more. Numbers
  // are finite, shares from 0 to 1, thresholds and counts from 0 on, and no least is above its most.
  // "dataset" stands for the constraints of the data set. A tag's key is taken as a field, too (see
  // schema_tags.h): age.policy, age.default, age.max_mean, age.buckets, sex.role, income.favourable,
  // dataset.policy.
  std::vector<std::string> set = {};
  std::vector<std::string> allow = {};            // FEATURE=VALUE: one more value of its domain of texts
  std::vector<std::string> in = {}, not_in = {};  // ENVIRONMENT:FEATURE
  std::vector<std::string> environments = {};     // that the schema lists from now on
  std::vector<std::string> rules = {};            // conditions on rows that must hold
  std::vector<std::string> warning_rules = {};    // or are worth a warning where they do not
  std::vector<std::string> dropped_rules = {};

  bool empty() const;
};

// In the order of the fields above, environments first and rules last. Features within features have paths,
// "trip.day". Raises ValueError[schema_edit.*] with the nearest names; of rules FormatError and
// ValueError[expression.*].
tfmd::Schema edited_schema(const tfmd::Schema& schema, const SchemaEdits& edits);

}  // namespace espalier
