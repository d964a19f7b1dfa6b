// What the decompositions of elementwise functions share.
#pragma once

#include "ops/elementwise.h"

namespace espalier {

// f(x, ...) with 16-bit operands computed in f32 and rounded once.
template <class F, class... Tensors>
Tensor widened(F f, const Tensor& x, const Tensors&... others) {
  if (size_of(x.dtype()) != 2) return f(x, others...);
  return convert(f(convert(x, DType::kF32), convert(others, DType::kF32)...), x.dtype());
}

// The sum of coefficients[k] * T_k(t) for |t| <= 1, by Clenshaw's recurrence.
inline Tensor chebyshev(const Tensor& t, std::span<const double> coefficients) {
  const Tensor twice = t + t;
  Tensor b1 = constant_like(t.type(), 0), b2 = b1;
  for (size_t k = coefficients.size(); --k > 0;) {
    const Tensor next = twice * b1 - b2 + constant_like(t.type(), coefficients[k]);
    b2 = b1;
    b1 = next;
  }
  return t * b1 - b2 + constant_like(t.type(), coefficients[0]);
}

// x where `holds`, else `otherwise`: keeps a branch that is not taken away from its poles, so that its
// gradient is a number.
inline Tensor guarded(const Tensor& holds, const Tensor& x, double otherwise) {
  return select(holds, x, constant_like(x.type(), otherwise));
}

inline Tensor is_less(const Tensor& x, double bound) { return compare(x, bound, Comparison::kLT); }
inline Tensor is_equal(const Tensor& x, double value) { return compare(x, value, Comparison::kEQ); }

}  // namespace espalier
