// How TOML writes the values of a plan.
#pragma once

#include <string>

#include "cli/plan_fields.h"

namespace espalier::cli {

// The fewest digits that read back as the same number: "0.2", "1e-07", "64".
std::string number_text(double value);
// In quotes. Raises ValueError[plan.utf8].
std::string quoted(const std::string& text);
// The value of a field in one line; of lists of tables there is none.
std::string value_text(const Field& field);

}  // namespace espalier::cli
