// Products and triangles of stacks of matrices, for the gradients of factorisations.
#pragma once

#include "ops/elementwise.h"

namespace espalier {

// The last two axes of each are matrices, the others run together.
inline Tensor matrix_product(const Tensor& a, const Tensor& b) {
  const Dims stack = Dims::range(a.rank() - 2);
  const auto last = static_cast<int64_t>(a.rank()) - 1;
  return dot_general(a, b,
                     {.lhs_batching = stack,
                      .rhs_batching = stack,
                      .lhs_contracting = {last},
                      .rhs_contracting = {last - 1}});
}

inline Tensor matrix_transpose(const Tensor& a) {
  Dims permutation = Dims::range(a.rank());
  std::swap(permutation[a.rank() - 1], permutation[a.rank() - 2]);
  return transpose(a, permutation);
}

// a where row (direction) column holds, zero elsewhere: kGE keeps the lower triangle, kGT what is below the
// diagonal.
inline Tensor keep_triangle(const Tensor& a, Comparison direction) {
  const TensorType index{DType::kI64, a.shape()};
  const auto last = static_cast<int64_t>(a.rank()) - 1;
  return select(compare(iota(index, last - 1), iota(index, last), direction), a, 0);
}

// c1: floating-point elements. c2: two or more axes, the last two equal.
inline void require_square(const InferContext& c, const TensorType& a) {
  c.require_dtype(is_float(a.dtype), "c1", "takes floating-point elements, got ", a);
  c.require(a.rank() >= 2 && a.shape[a.rank() - 1] == a.shape[a.rank() - 2], "c2",
            "takes square matrices in the last two axes, got ", a);
}

// The type in which factorisations of T are computed.
template <class T>
using Wide = std::conditional_t<is_half<T>, float, double>;

}  // namespace espalier
