#include <utility>

#include "ir/dispatch.h"
#include "ops/indexed.h"

namespace espalier {
namespace {

void check_list(const InferContext& c, const Dims& axes, size_t rank, const char* rule, const char* what,
                bool sorted) {
  for (size_t i = 0; i < axes.size(); ++i) {
    c.require(0 <= axes[i] && axes[i] < static_cast<int64_t>(rank), rule, what, " ", axes,
              " must lie inside of rank ", rank);
    for (size_t j = 0; j < i; ++j) {
      c.require(axes[i] != axes[j] && (!sorted || axes[j] < axes[i]), rule, what, " must be distinct",
                sorted ? " and ascending: " : ": ", axes);
    }
  }
}

void check_apart(const InferContext& c, const Dims& a, const Dims& b, const char* rule, const char* what) {
  for (const int64_t axis : a)
    c.require(!b.contains(axis), rule, what, " share axis ", axis, ": ", a, ", ", b);
}

void shift(Dims& axes) {
  for (int64_t& axis : axes) ++axis;
}

}  // namespace

void check_index_axes(InferContext& c, const IndexAxes& axes, const TensorType& operand,
                      const TensorType& indices, size_t array_rank) {
  const size_t vector_axis = static_cast<size_t>(axes.index_vector);
  c.require_dtype(is_integer(indices.dtype), "c1", "indices must be integers, got ", indices);
  c.require(axes.index_vector >= 0 && vector_axis <= indices.rank(), "c2", "index_vector_dim ",
            axes.index_vector, " must be an axis of ", indices, " or the one behind");
  const int64_t length = vector_axis < indices.rank() ? indices.shape[vector_axis] : 1;
  c.require(static_cast<int64_t>(axes.index_map.size()) == length, "c3", "index vectors of ", indices,
            " have ", length, " components, ", axes.index_map, " maps ", axes.index_map.size());
  check_list(c, axes.index_map, operand.rank(), "c3", "mapped axes", false);
  c.require(axes.window.size() + axes.collapsed.size() + axes.operand_batching.size() == operand.rank(), "c4",
            "window axes ", axes.window, ", dropped axes ", axes.collapsed, " and batching axes ",
            axes.operand_batching, " must be as many as the axes of ", operand);
  check_list(c, axes.window, array_rank, "c5", "window axes", true);
  check_list(c, axes.collapsed, operand.rank(), "c6", "dropped axes", true);
  check_list(c, axes.operand_batching, operand.rank(), "c7", "batching axes", true);
  check_list(c, axes.indices_batching, indices.rank(), "c7", "batching axes of the indices", false);
  check_apart(c, axes.collapsed, axes.operand_batching, "c7", "dropped and batching axes");
  check_apart(c, axes.index_map, axes.operand_batching, "c7", "mapped and batching axes");
  c.require(!axes.indices_batching.contains(axes.index_vector), "c7", "batching axes of the indices ",
            axes.indices_batching, " hold index_vector_dim ", axes.index_vector);
  c.require(axes.operand_batching.size() == axes.indices_batching.size(), "c8",
            "batching axes must pair up: ", axes.operand_batching, " and ", axes.indices_batching);
  for (size_t i = 0; i < axes.operand_batching.size(); ++i) {
    c.require(operand.shape[axes.operand_batching[i]] == indices.shape[axes.indices_batching[i]], "c8",
              "paired batching axes must be equal: axis ", axes.operand_batching[i], " of ", operand,
              " and axis ", axes.indices_batching[i], " of ", indices);
  }
}

Shape index_batch(const IndexAxes& axes, const Shape& indices) {
  Shape out = indices;
  if (static_cast<size_t>(axes.index_vector) < out.size()) out.erase(static_cast<size_t>(axes.index_vector));
  return out;
}

Dims kept_axes(const IndexAxes& axes, size_t operand_rank) {
  Dims out;
  for (size_t i = 0; i < operand_rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (!axes.collapsed.contains(axis) && !axes.operand_batching.contains(axis)) out.push_back(axis);
  }
  return out;
}

Shape window_sizes(const IndexAxes& axes, size_t operand_rank, const Shape& array) {
  Shape out = Dims::filled(operand_rank, 1);
  const Dims kept = kept_axes(axes, operand_rank);
  for (size_t i = 0; i < kept.size(); ++i) out[kept[i]] = array[axes.window[i]];
  return out;
}

IndexAxes batch_indices(IndexAxes axes) {
  shift(axes.window);
  shift(axes.indices_batching);
  ++axes.index_vector;
  return axes;
}

IndexAxes batch_both(IndexAxes axes) {
  axes = batch_indices(axes);
  for (Dims* list : {&axes.collapsed, &axes.operand_batching, &axes.index_map}) shift(*list);
  axes.operand_batching.insert(0, 0);
  axes.indices_batching.insert(0, 0);
  return axes;
}

IndexAxes batch_operand(IndexAxes axes) {
  for (Dims* list : {&axes.window, &axes.collapsed, &axes.operand_batching, &axes.index_map}) shift(*list);
  axes.window.insert(0, 0);
  return axes;
}

IndexAxes window_axes(size_t rank) { return {.window = Dims::range(rank), .index_map = Dims::range(rank)}; }

IndexAxes along_axis(size_t rank, int64_t axis) {
  Dims others = Dims::range(rank);
  others.erase(static_cast<size_t>(axis));
  return {.collapsed = {axis},
          .operand_batching = others,
          .indices_batching = others,
          .index_map = {axis},
          .index_vector = static_cast<int64_t>(rank)};
}

Tensor index_values(const Tensor& indices) {
  if (indices.dtype() != DType::kU64) return convert(indices, DType::kI64);
  const int64_t far = int64_t{1} << 61;
  const Tensor limit = make_concrete(Literal::splat(indices.type(), far));
  return convert(select(compare(indices, limit, Comparison::kGT), limit, indices), DType::kI64);
}

Tensor clamp_starts(const Tensor& indices, const IndexAxes& axes, const Shape& operand, const Shape& sizes) {
  const Tensor starts = index_values(indices);
  std::vector<int64_t> limits;
  for (const int64_t axis : axes.index_map) limits.push_back(operand[axis] - sizes[axis]);
  Tensor limit = Tensor::of(limits, {static_cast<int64_t>(limits.size())});
  const bool spelled = static_cast<size_t>(axes.index_vector) < starts.rank();
  limit = spelled ? broadcast_in_dim(limit, starts.shape(), {axes.index_vector})
                  : broadcast_to(reshape(limit, {}), starts.shape());
  const Tensor zero = constant_like(starts.type(), 0);
  const Tensor low = select(compare(starts, zero, Comparison::kLT), zero, starts);
  return select(compare(low, limit, Comparison::kGT), limit, low);
}

void check_starts(const InferContext& c, size_t first, const char* rule) {
  c.require(c.size() - first == c.in(0).rank(), rule, "needs one start per axis of ", c.in(0), ", got ",
            c.size() - first);
  for (size_t i = first; i < c.size(); ++i) {
    c.require_dtype(is_integer(c.in(i).dtype) && c.in(i).dtype == c.in(first).dtype, rule,
                    "starts must be integers of one dtype: input ", i, " is ", c.in(i));
    c.require(c.in(i).rank() == 0, rule, "starts must be scalars: input ", i, " is ", c.in(i));
  }
}

Dims clamped_starts(std::span<const ArrayView> starts, const Shape& operand, const Shape& sizes) {
  Dims out;
  for (size_t i = 0; i < starts.size(); ++i)
    out.push_back(std::clamp<int64_t>(read_indices(starts[i])[0], 0, operand[i] - sizes[i]));
  return out;
}

bool any_batched(const BatchContext& c, size_t first) {
  for (size_t i = first; i < c.batched.size(); ++i) {
    if (c.batched[i]) return true;
  }
  return false;
}

Tensor stack_starts(const BatchContext& c, size_t first) {
  std::vector<Tensor> columns;
  for (size_t i = first; i < c.inputs.size(); ++i)
    columns.push_back(reshape(index_values(batch_expand(c, i)), {c.size, 1}));
  return concatenate(columns, 1);
}

Tensor checked_indices(const char* rule, const Tensor& indices, int64_t size) {
  if (!is_integer(indices.dtype())) {
    throw DTypeError(cat(rule, ".dtype"), cat("indices must be integers, got ", indices.type()),
                     "convert(indices, DType::kI32)");
  }
  bool negative = !indices.concrete() && is_signed_integer(indices.dtype());
  if (indices.concrete()) {
    visit_integral(indices.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<T, bool>) {
        for (const T value : indices.data<T>()) {
          if (std::cmp_less(value, -size) || std::cmp_greater_equal(value, size))
            throw ShapeError(cat(rule, ".range"),
                             cat("index ", value, " is outside of an axis of size ", size));
          negative = negative || std::cmp_less(value, 0);
        }
      }
    });
  }
  if (!negative) return indices;
  const Tensor wide = convert(indices, DType::kI64);
  return select(compare(wide, 0, Comparison::kLT), wide + size, wide);
}

}  // namespace espalier
