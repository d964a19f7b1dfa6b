// An assessment for people and for programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fairness/assessment.h"
#include "report/terminal.h"

namespace espalier {

struct AssessmentView {
  // Of each slice. Of one metric its interval is drawn too; none: accuracy, and what a decision makes of
  // rows.
  std::vector<std::string> metrics = {};
  // By the name of a slicing, the group that its others are compared with.
  std::map<std::string, size_t> references = {};
};

// A table for each threshold and slicing, and how far its groups lie apart by each criterion; thin slices are
// dimmed. Raises ValueError[evaluate.metric].
std::string text_of(const Assessment& assessment, const AssessmentView& view, const Terminal& terminal);

// Every figure of every slice with its interval and count, and every gap: docs/formats.md.
nlohmann::ordered_json json_of(const Assessment& assessment, const AssessmentView& view);

}  // namespace espalier
