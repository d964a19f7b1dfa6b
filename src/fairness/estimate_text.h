// An assessment whose figures are estimates, for people and for programs: parts of assessment_text.h.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "fairness/assessment_text.h"

namespace espalier {

std::string estimate_text(const Assessment& assessment, const AssessmentView& view, const Terminal& terminal);
nlohmann::ordered_json estimate_json(const Assessment& assessment, const AssessmentView& view);

}  // namespace espalier
