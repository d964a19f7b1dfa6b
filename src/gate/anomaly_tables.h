// Anomalies for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "report/terminal.h"
#include "validate/anomalies.h"

namespace espalier {

// "2 of 18 features are not as the schema says: payment_type (Unexpected string values), ..."
std::string anomaly_sentence(const Validation& validation, const ValidateInputs& inputs);

// A line for each reason: feature, anomaly, what was observed, the limit, the fix; then the distances that
// were measured.
std::string anomaly_table(const Validation& validation, const Terminal& terminal);

// The fields of the JSON besides the sentence.
nlohmann::ordered_json anomaly_json(const Validation& validation);

}  // namespace espalier
