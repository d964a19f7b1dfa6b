// What op files share: calling an op on operands, NumPy broadcasting, batching by expansion.
#pragma once

#include "espalier/ops.h"
#include "ir/op.h"

namespace espalier {

// Calls an op of one tensor.
Tensor unary(const OpDef& op, const Operand& x);
// Calls an elementwise op of two operands of one dtype after broadcasting them by NumPy's rules. Raises
// ShapeError[op.broadcast] or DTypeError[op.dtype].
Tensor binary(const OpDef& op, const Operand& a, const Operand& b);
// The common shape of `a` and `b` by NumPy's rules. Raises ShapeError[rule.broadcast].
Shape broadcast_shapes(const char* rule, const Shape& a, const Shape& b);
// The sum of `x` over the axes along which `shape` was broadcast to x's shape.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);
// Both operands as tensors; a C++ scalar takes the other's dtype. Raises DTypeError[rule.dtype] for two
// dtypes.
std::pair<Tensor, Tensor> same_dtype(const char* rule, const Operand& a, const Operand& b);
// A 0-d or splat constant of `type`.
Tensor constant_like(const TensorType& type, double value);
// Whether `value` is one of the dtype's numbers; floating-point types round what they do not hold.
bool holds(DType dtype, double value);
// Axis in [0, rank) from one that may count from the back. Raises ShapeError[rule.axis].
int64_t normalize_axis(const char* rule, int64_t axis, size_t rank);

// Input i of a batching rule with its leading axis: as it is, or repeated.
Tensor batch_expand(const BatchContext& c, size_t i);
// All of them.
std::vector<Tensor> batch_expand_all(const BatchContext& c);
// The cotangents of results that are there and whose operand, of the same number, wants a gradient.
struct WantedCotangents {
  std::vector<size_t> positions;
  std::vector<Tensor> cotangents;
};
WantedCotangents wanted_cotangents(const GradientContext& c);
// The batching rule of ops whose inputs all have the output's shape.
void batch_elementwise(BatchContext& c);

}  // namespace espalier
