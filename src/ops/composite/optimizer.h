// What the optimizer composites share: scalar operands, the type they compute in, the apply switch.
#pragma once

#include "ops/elementwise.h"

namespace espalier {

// f16 and bf16 parameters are updated in f32 and rounded once.
inline DType compute_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// c1: a floating-point parameter. c2: input `gradient` is floating-point and of its shape; inputs 1 up to it
// are state of the parameter's type.
inline void require_update(const InferContext& c, size_t gradient) {
  c.require_dtype(is_float(c.in(0).dtype), "c1", "takes a floating-point parameter, got ", c.in(0));
  c.require_dtype(is_float(c.in(gradient).dtype), "c2", "the gradient must be floating-point, got ",
                  c.in(gradient));
  c.require(c.in(gradient).shape == c.in(0).shape, "c2",
            "the gradient must have the parameter's shape: ", c.in(gradient), " and ", c.in(0));
  for (size_t i = 1; i < gradient; ++i)
    c.require(c.in(i) == c.in(0), "c3", "state ", i, " must have the parameter's type: ", c.in(i), " and ",
              c.in(0));
}

inline void require_scalar(const InferContext& c, size_t i, DType dtype, const char* what) {
  c.require(c.in(i).rank() == 0, "c4", what, " must be a scalar, got ", c.in(i));
  c.require_dtype(c.in(i).dtype == dtype, "c4", what, " must be ", dtype, ", got ", c.in(i));
}

template <class F>
F scalar_of(const ArrayView& view) {
  return static_cast<F>(load_scalar(view.type->dtype, view.data));
}

// Calls f(tag of the parameter, tag of the gradient).
template <class F>
void visit_update(const EvalContext& c, size_t gradient, F f) {
  visit_float(c.in(0).type->dtype, [&](auto parameter_tag) {
    visit_float(c.in(gradient).type->dtype, [&](auto gradient_tag) { f(parameter_tag, gradient_tag); });
  });
}

// The outputs are copies of the first inputs: what a skipped update gives.
inline void keep(const EvalContext& c) {
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (const size_t bytes = c.in(i).type->bytes()) std::memcpy(c.out(i).data, c.in(i).data, bytes);
  }
}

// The new value where `apply` holds, in the dtype of the old one.
inline Tensor applied(const Tensor& apply, const Tensor& value, const Tensor& old) {
  return select(apply, convert(value, old.dtype()), old);
}

}  // namespace espalier
