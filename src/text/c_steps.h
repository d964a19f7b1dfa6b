// The statements of the C function.
#pragma once

#include <set>
#include <string>

#include "text/c_plan.h"

namespace espalier::c_text {

// The loops of one step, and of the copy of an output. Add the functions that they call.
std::string print_step(const Plan& plan, const Step& step, std::set<std::string>& functions);
std::string print_copy(const Plan& plan, size_t output, std::set<std::string>& functions);

}  // namespace espalier::c_text
