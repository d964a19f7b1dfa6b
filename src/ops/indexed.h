// What gather, scatter and the dynamic slices share: windows of an operand that index vectors address.
#pragma once

#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {

// c1 .. c8 of gather and scatter; `array` is the rank of gather's result or of scatter's updates.
void check_index_axes(InferContext& c, const IndexAxes& axes, const TensorType& operand,
                      const TensorType& indices, size_t array_rank);
// The sizes of the indices without the axis of index vectors.
Shape index_batch(const IndexAxes& axes, const Shape& indices);
// Axes of the operand that a window keeps, ascending: axes.window[i] of the array walks along the i-th.
Dims kept_axes(const IndexAxes& axes, size_t operand_rank);
// Window sizes of all operand axes, from the array's sizes; dropped axes have size 1.
Shape window_sizes(const IndexAxes& axes, size_t operand_rank, const Shape& array);

// Calls f(full start in the operand, unclamped; offset of the window's first element in the array) for each
// index vector in row-major order.
template <class F>
void each_window(const IndexAxes& axes, size_t operand_rank, const ArrayView& indices, const Shape& array,
                 F f) {
  const Dims array_strides = row_major_strides(array), index_strides = row_major_strides(indices.type->shape);
  const auto vector_axis = static_cast<size_t>(axes.index_vector);
  const int64_t vector_stride = vector_axis < index_strides.size() ? index_strides[vector_axis] : 0;
  const Shape batch = index_batch(axes, indices.type->shape);
  Dims index_steps, array_steps;
  for (size_t i = 0; i < index_strides.size(); ++i) {
    if (i != vector_axis) index_steps.push_back(index_strides[i]);
  }
  for (size_t i = 0; i < array.size(); ++i) {
    if (!axes.window.contains(static_cast<int64_t>(i))) array_steps.push_back(array_strides[i]);
  }
  const std::vector<int64_t> values = read_indices(indices);
  Dims start = Dims::filled(operand_rank, 0), index = Dims::filled(batch.size(), 0);
  walk_pair(batch, index_steps, 0, array_steps, 0, [&](int64_t from, int64_t to) {
    for (size_t i = 0; i < axes.index_map.size(); ++i)
      start[axes.index_map[i]] = values[from + static_cast<int64_t>(i) * vector_stride];
    for (size_t i = 0; i < axes.operand_batching.size(); ++i) {
      const int64_t axis = axes.indices_batching[i];
      start[axes.operand_batching[i]] = index[axis - (axis > axes.index_vector)];
    }
    f(start, to);
    for (size_t axis = batch.size(); axis-- > 0;) {
      if (++index[axis] < batch[axis]) break;
      index[axis] = 0;
    }
  });
}

// The same call with a leading batch axis: of operand, indices and array; of indices and array; of operand
// and array, where the window holds the whole axis.
IndexAxes batch_both(IndexAxes axes);
IndexAxes batch_indices(IndexAxes axes);
IndexAxes batch_operand(IndexAxes axes);
// One index vector over all of `rank` axes; the array is the window.
IndexAxes window_axes(size_t rank);
// x[..., indices[..., j, ...], ...]: each element of the indices names a place along `axis`, at its own place
// along the others. Index vectors are elements, in an added last axis.
IndexAxes along_axis(size_t rank, int64_t axis);
// Integer `indices` into an axis of `size`, negative ones counted from the front. Raises
// ShapeError[rule.range] for a concrete one outside of the axis and DTypeError[rule.dtype] for other types.
Tensor checked_indices(const char* rule, const Tensor& indices, int64_t size);
// take with indices that are clamped and not looked at.
Tensor take_clamped(const Tensor& x, const Tensor& indices, int64_t axis);
// Integer tensor as i64, saturated.
Tensor index_values(const Tensor& indices);
// Index vectors as i64, clamped so that windows of `sizes` fit.
Tensor clamp_starts(const Tensor& indices, const IndexAxes& axes, const Shape& operand, const Shape& sizes);

// Scalar starts, one per axis of input 0, from input `first` on.
void check_starts(const InferContext& c, size_t first, const char* rule);
Dims clamped_starts(std::span<const ArrayView> starts, const Shape& operand, const Shape& sizes);
inline std::vector<Tensor> starts_of(std::span<const Tensor> inputs, size_t first) {
  return {inputs.begin() + static_cast<std::ptrdiff_t>(first), inputs.end()};
}
bool any_batched(const BatchContext& c, size_t first);
// Starts of a batched call as index vectors i64[size, rank].
Tensor stack_starts(const BatchContext& c, size_t first);

}  // namespace espalier
