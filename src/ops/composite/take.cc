#include "ops/composite/axis.h"
#include "ops/indexed.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_take(InferContext& c) {
  c.require_inputs(2);
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  c.require_axis(axis, c.in(0).rank(), "c1");
  c.require_dtype(is_integer(c.in(1).dtype), "c2", "indices must be integers, got ", c.in(1));
  c.require(c.in(0).shape[axis] > 0 || c.in(1).elements() == 0, "c3", "axis ", axis, " of ", c.in(0),
            " has no element to take");
  Shape shape = c.in(0).shape;
  shape.erase(static_cast<size_t>(axis));
  for (size_t i = 0; i < c.in(1).rank(); ++i) shape.insert(static_cast<size_t>(axis) + i, c.in(1).shape[i]);
  c.result({c.in(0).dtype, shape});
}

std::vector<Tensor> decompose_take(const DecomposeContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor &x = c.in(0), &indices = c.in(1);
  const auto depth = static_cast<int64_t>(indices.rank());
  IndexAxes axes{.collapsed = {axis}, .index_map = {axis}, .index_vector = depth};
  Shape sizes = x.shape();
  sizes[axis] = std::min<int64_t>(sizes[axis], 1);
  for (int64_t i = 0; i + 1 < static_cast<int64_t>(x.rank()); ++i)
    axes.window.push_back(i < axis ? i : i + depth);
  return {gather(x, indices, axes, sizes)};
}

void batch_take(BatchContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor &x = c.in(0), &indices = c.in(1);
  if (!c.batched[1]) {
    c.outputs = {take_clamped(x, indices, axis + 1)};
    return;
  }
  const auto depth = static_cast<int64_t>(indices.rank()) - 1;
  if (!c.batched[0]) {
    // The batch axis of the indices stands at `axis` of the result.
    const Tensor out = take_clamped(x, indices, axis);
    Dims order{axis};
    for (int64_t i = 0; i < static_cast<int64_t>(out.rank()); ++i) {
      if (i != axis) order.push_back(i);
    }
    c.outputs = {transpose(out, order)};
    return;
  }
  IndexAxes axes{.collapsed = {axis + 1},
                 .operand_batching = {0},
                 .indices_batching = {0},
                 .index_map = {axis + 1},
                 .index_vector = depth + 1};
  Shape sizes = x.shape();
  sizes[0] = std::min<int64_t>(sizes[0], 1);
  sizes[axis + 1] = std::min<int64_t>(sizes[axis + 1], 1);
  for (int64_t i = 1; i + 1 < static_cast<int64_t>(x.rank()); ++i)
    axes.window.push_back(i <= axis ? i : i + depth);
  c.outputs = {gather(x, indices, axes, sizes)};
}

}  // namespace

const OpDef op_take = {
    .name = "take",
    .doc =
        "Slices of the operand at `indices` along `axis`; the axes of the indices stand in its place. An "
        "index outside is clamped. The gradient is scatter-add. c1: axis in range. c2: integer indices. c3: "
        "the axis is not empty.",
    .composite = true,
    .attributes = make_attributes<AxisAttributes>,
    .infer = infer_take,
    .decompose = decompose_take,
    .batch = batch_take,
    .sample =
        [](DType dtype) {
          take(constant_like({dtype, {2}}, 1), constant_like({DType::kI32, {2}}, 0));
        },
};

Tensor take_clamped(const Tensor& x, const Tensor& indices, int64_t axis) {
  auto attributes = std::make_shared<AxisAttributes>();
  attributes->axis = axis;
  return emit(op_take, attributes, {x, indices});
}

Tensor take(Operand operand, Operand indices, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  axis = normalize_axis("take", axis, x.rank());
  return take_clamped(x, checked_indices("take", indices.tensor(), x.shape()[axis]), axis);
}

}  // namespace espalier
