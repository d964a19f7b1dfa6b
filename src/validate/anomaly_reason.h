// One reason why data and schema do not fit.
#pragma once

#include <string>
#include <vector>

#include "validate/metadata_files.h"

namespace espalier {

struct AnomalyReason {
  tfmd::AnomalyInfo::Type type = tfmd::AnomalyInfo::UNKNOWN_TYPE;
  std::string brief;                      // TensorFlow Data Validation's short_description
  std::string description;                // and its description
  std::string observed = {}, limit = {};  // what the data has, and what the schema asks for
};
using AnomalyReasons = std::vector<AnomalyReason>;

// "0.333333", as texts of anomalies have numbers.
std::string six_digits(double value);
// Towards zero; the nearest number of 64 bits, 0 for nan.
int64_t whole_part(double value);

}  // namespace espalier
