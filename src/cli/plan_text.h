// How TOML writes the values of a plan.
#pragma once

#include <string>

#include "cli/plan_fields.h"

namespace espalier::cli {

// In quotes. Raises ValueError[plan.utf8].
std::string quoted(const std::string& text);
// The value of a field in one line; of lists of tables there is none.
std::string value_text(const Field& field);

}  // namespace espalier::cli
