// How TOML writes the values of a plan.
#pragma once

#include <string>

#include "cli/plan_fields.h"

namespace espalier::cli {

// The value of a field in one line; of lists of tables there is none.
std::string value_text(const Field& field);

}  // namespace espalier::cli
