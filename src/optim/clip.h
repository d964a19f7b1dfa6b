// Bounds on gradients.
#pragma once

#include "optim/rule.h"

namespace espalier {

// Raises ValueError[<rule>.<option>] unless the bounds are finite, not negative, and at most one of them is
// set.
void require_bounds(const std::string& rule, const OptimizerOptions& options);

// What the bounds of `options` make of gradients, some of which may be undefined, times `factor`, f32[] (1
// where it is undefined).
class Clipping {
 public:
  Clipping(const OptimizerOptions& options, std::vector<Tensor> gradients, const Tensor& factor = {});
  Tensor gradient(size_t i) const;
  // What to multiply that by, f32[].
  Operand scale(size_t i) const;

 private:
  const OptimizerOptions& options_;
  std::vector<Tensor> gradients_;  // by the factor where a bound is set, which needs to know them
  Tensor factor_;                  // that is left
  Tensor global_scale_;
};

}  // namespace espalier
