// What sums and means of replicas are made in.
#pragma once

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/ops.h"

namespace espalier {

inline void require_mean(DType dtype) {
  if (!is_float(dtype))
    throw DTypeError("strategy.mean", cat("the mean of replicas is of floating-point values, got ", dtype),
                     "convert(x, DType::kF32), or ReduceOp::kSum");
}

// They are rounded once: in 16 bits a sum overflows where its mean does not.
inline Tensor widened(const Tensor& value) {
  return is_float(value.dtype()) && size_of(value.dtype()) == 2 ? convert(value, DType::kF32) : value;
}

}  // namespace espalier
