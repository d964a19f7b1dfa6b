// Scaling that changes no bits, for sums of squares that would overflow or underflow.
#pragma once

#include "espalier/control.h"
#include "ops/composite/formula.h"

namespace espalier {

// A power of two near |x|, never below the smallest normal number; 1 where x is infinite or NaN. It is a
// constant for differentiation: dividing by it and multiplying back is exact but for what becomes negligible.
// REQUIRES: x is f32 or f64.
inline Tensor power_of_two_near(const Tensor& x) {
  const bool wide = x.dtype() == DType::kF64;
  const double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Tensor near = reduce_precision(maximum(abs(x) * 0.5, smallest), wide ? 11 : 8, 0);
  return stop_gradient(guarded(is_finite(near), near, 1));
}

}  // namespace espalier
