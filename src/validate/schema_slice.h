// The part of a schema that one feature's anomalies can change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "validate/feature_path.h"

namespace espalier {

// Finds features and domains of a schema by their names; it must not change but by `replace`.
class SchemaSlices {
 public:
  explicit SchemaSlices(tfmd::Schema& schema);

  // The top feature of that name (sparse and weighted ones of it, too), the domains that it and features
  // within it name, environments; and the domains that stand in the way of new ones named like `added`.
  tfmd::Schema slice(const std::string& name, const std::vector<std::string>& added) const;
  // Puts a slice back that has been changed. A domain that it lost goes out of all features.
  void replace(const tfmd::Schema& before, const tfmd::Schema& after);

 private:
  void take_domains(const tfmd::Feature& feature, tfmd::Schema& out) const;
  void take_domain(const std::string& name, tfmd::Schema& out) const;

  tfmd::Schema* schema_;
  std::map<std::string, int> features_, sparse_features_, weighted_features_, domains_;
};

}  // namespace espalier
