// What the normalisations share.
#pragma once

#include "ops/elementwise.h"

namespace espalier {

// f16 and bf16 are normalised in f32 and rounded once.
inline DType normalization_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// c1: floating-point x. c2: inputs 1 and 2, scale and offset, have x's dtype or the one it is normalised in,
// and `shape`.
inline void require_normalization(const InferContext& c, const Shape& shape) {
  const TensorType& x = c.in(0);
  c.require_dtype(is_float(x.dtype), "c1", "takes floating-point elements, got ", x);
  for (size_t i = 1; i < 3; ++i) {
    const char* what = i == 1 ? "scale" : "offset";
    c.require(c.in(i).shape == shape, "c2", what, " must have the shape ", shape, ", got ", c.in(i));
    const DType dtype = c.in(i).dtype;
    c.require_dtype(dtype == c.in(1).dtype && (dtype == x.dtype || dtype == normalization_dtype(x.dtype)),
                    "c2", what, " must have the dtype of ", x, " or ", normalization_dtype(x.dtype),
                    ", both the same; got ", c.in(1), " and ", c.in(2));
  }
}

}  // namespace espalier
