// How TOML writes the values of a plan.
#pragma once

#include <string>

#include "plan/fields.h"

namespace espalier {

// The value of a field in one line; of lists of tables there is none.
std::string value_text(const Field& field);

// The lines of a plan that say something: without comments and empty lines, and with one blank where there is
// white space. What stands in quotes stays as it is.
std::string without_comments(const std::string& plan);

}  // namespace espalier
