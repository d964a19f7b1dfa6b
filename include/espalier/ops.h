// The ops: one line each. Arguments are tensors, variables or C++ scalars (which take the dtype of the tensor
// beside them). Two-operand elementwise ops broadcast by NumPy's rules. dtypes never promote between tensors.
// Every op's meaning, constraints (c1, c2, ...) and support table: `espalier info --ops`.
#pragma once

#include <string>

#include "espalier/tensor.h"

namespace espalier {

// Creation.
// `limit` values 0, 1, ... along `axis` of `type`.
Tensor iota(const TensorType& type, int64_t axis, Location at = Location::here());
// Every element is `value`, stored once.
Tensor full(const Shape& shape, double value, DType dtype = DType::kF32);

// Elementwise, one operand.
Tensor exponential(Operand x);
Tensor exponential_minus_one(Operand x);
Tensor log(Operand x);
Tensor negate(Operand x);
Tensor sqrt(Operand x);

// Elementwise, two operands.
Tensor add(Operand a, Operand b);
Tensor divide(Operand a, Operand b);
Tensor maximum(Operand a, Operand b);
Tensor multiply(Operand a, Operand b);
Tensor subtract(Operand a, Operand b);
inline Tensor operator+(Operand a, Operand b) { return add(std::move(a), std::move(b)); }
inline Tensor operator-(Operand a, Operand b) { return subtract(std::move(a), std::move(b)); }
inline Tensor operator*(Operand a, Operand b) { return multiply(std::move(a), std::move(b)); }
inline Tensor operator/(Operand a, Operand b) { return divide(std::move(a), std::move(b)); }
inline Tensor operator-(Operand x) { return negate(std::move(x)); }

// Comparison and choice.
enum class Comparison : uint8_t { kEQ, kNE, kGE, kGT, kLE, kLT };
Tensor compare(Operand a, Operand b, Comparison direction);
// on_true where `predicate`, else on_false. The predicate is a scalar or has the others' shape.
Tensor select(Operand predicate, Operand on_true, Operand on_false);
Tensor convert(Operand x, DType dtype);

// Shape and movement.
// Axis i of x becomes axis `axes[i]` of the result; the other axes repeat. StableHLO's broadcast_in_dim.
Tensor broadcast_in_dim(Operand x, const Shape& shape, const Dims& axes);
// NumPy's broadcast_to.
Tensor broadcast_to(Operand x, const Shape& shape);
Tensor reshape(Operand x, const Shape& shape);
// Axis i of the result is axis `permutation[i]` of x.
Tensor transpose(Operand x, const Dims& permutation);

// Contraction and reduction.
struct DotAxes {
  Dims lhs_batching = {}, rhs_batching = {}, lhs_contracting = {}, rhs_contracting = {};
};
// StableHLO's dot_general: batching axes, then free axes of lhs, then of rhs.
Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes);
// lhs [m,k] times rhs [k,n].
Tensor dot(Operand lhs, Operand rhs);
Tensor reduce_sum(Operand x, const Dims& axes);
Tensor reduce_max(Operand x, const Dims& axes);
Tensor reduce_min(Operand x, const Dims& axes);
Tensor reduce_prod(Operand x, const Dims& axes);
Tensor reduce_and(Operand x, const Dims& axes);
Tensor reduce_or(Operand x, const Dims& axes);

}  // namespace espalier
