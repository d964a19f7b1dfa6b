// The state of generators among a model's variables.
#pragma once

#include "espalier/variable.h"

namespace espalier {

// Whether it is what a Generator keeps, which says nothing of what was learned.
bool is_random_state(const Variable& variable);

}  // namespace espalier
