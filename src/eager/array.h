// What the sources of the tensor functions share.
#pragma once

#include "espalier/array.h"
#include "ops/call.h"

namespace espalier {

// The axes of rank `rank` that are not in `axes`, ascending.
inline Dims other_axes(size_t rank, const Dims& axes) {
  Dims out;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (!axes.contains(i)) out.push_back(i);
  }
  return out;
}

// Raises DTypeError[rule.dtype] unless x holds floating-point numbers.
inline void require_float(const char* rule, const Tensor& x) {
  if (is_float(x.dtype())) return;
  throw DTypeError(cat(rule, ".dtype"), cat("takes floating-point elements, got ", x.type()),
                   "spell the cast: convert(x, DType::kF32)");
}

// The dtype in which a formula over several ops is computed: f32 for the 16-bit types.
inline DType wide(DType dtype) { return is_float(dtype) && size_of(dtype) == 2 ? DType::kF32 : dtype; }

// The places of the true elements of a concrete bool tensor: one i32 index list per axis. Raises
// StateError[rule.traced] for a symbolic one.
std::vector<Tensor> true_places(const char* rule, const Tensor& mask);

}  // namespace espalier
