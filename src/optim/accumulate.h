// Updates by the gradients of several calls.
#pragma once

#include "optim/rule.h"

namespace espalier {

// The slot of sums.
inline constexpr const char* kAccumulator = "gradient_accumulator";

// What an update is made of: gradients, some perhaps undefined, and how they count.
struct Pending {
  std::vector<Tensor> gradients;
  UpdateControl control;

  void count_times(const Tensor& factor);
  // Takes control.weight into control.scale.
  void divide_by_weight();
};

// Adds the call's gradients, times its scale, to those before and puts their sums in the place; the update
// applies only at the last call of common.gradient_accumulation_steps, and the sums begin anew behind it.
void accumulate(Optimizer::Rule::Shared& rule, const std::vector<Variable>& variables, Pending& pending);

}  // namespace espalier
