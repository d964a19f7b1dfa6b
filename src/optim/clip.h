// Bounds on gradients.
#pragma once

#include "optim/rule.h"

namespace espalier {

// Raises ValueError unless the bounds are finite, not negative, and at most one of them is set.
void require_bounds(const Optimizer::Rule& rule);

// What the bounds of `options` make of gradients, some of which may be undefined.
class Clipping {
 public:
  Clipping(const CommonOptions& options, const std::vector<Tensor>& gradients);
  Tensor gradient(size_t i) const;
  // What to multiply that by, f32[].
  Operand scale(size_t i) const;

 private:
  const CommonOptions& options_;
  const std::vector<Tensor>& gradients_;
  Tensor global_scale_;
};

}  // namespace espalier
