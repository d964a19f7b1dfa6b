// Moving averages of variables, which may take their place.
#pragma once

#include "optim/rule.h"

namespace espalier {

// The slot of averages.
inline constexpr const char* kAverage = "average";

// Behind an update, if it applies: moves the averages of variables with a gradient, and overwrites variables
// where that is due. REQUIRES: rule.step has counted the update.
void average(Optimizer::Rule::Shared& rule, const std::vector<Tensor>& gradients,
             const std::vector<Variable>& variables, const Tensor& apply);
// Assigns the averages that there are.
void take_averages(Optimizer::Rule::Shared& rule, const std::vector<Variable>& variables);

}  // namespace espalier
