#include <algorithm>

#include "ops/indexed.h"

namespace espalier {
namespace {

struct GatherAttributes final : Attributes {
  IndexAxes axes;
  Dims sizes;
  bool sorted = false;
  void fields(FieldVisitor& v) override {
    v.field("dimension_numbers.offset_dims", axes.window);
    v.field("dimension_numbers.collapsed_slice_dims", axes.collapsed);
    v.field("dimension_numbers.operand_batching_dims", axes.operand_batching);
    v.field("dimension_numbers.start_indices_batching_dims", axes.indices_batching);
    v.field("dimension_numbers.start_index_map", axes.index_map);
    v.field("dimension_numbers.index_vector_dim", axes.index_vector);
    v.field("slice_sizes", sizes);
    v.field("indices_are_sorted", sorted);
  }
};

void infer_gather(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<GatherAttributes>();
  const TensorType &operand = c.in(0), &indices = c.in(1);
  const bool spelled = static_cast<size_t>(a.axes.index_vector) < indices.rank();
  const size_t rank = indices.rank() - spelled + a.axes.window.size();
  check_index_axes(c, a.axes, operand, indices, rank);
  c.require(a.sizes.size() == operand.rank(), "c9", "needs a slice size per axis of ", operand, ", got ",
            a.sizes);
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    c.require(0 <= a.sizes[i] && a.sizes[i] <= operand.shape[i], "c9", "slice sizes ", a.sizes, " must fit ",
              operand);
  }
  for (const Dims* list : {&a.axes.collapsed, &a.axes.operand_batching}) {
    for (const int64_t axis : *list)
      c.require(a.sizes[axis] <= 1, "c10", "slice sizes ", a.sizes, " must be 1 in the axes ", *list);
  }
  const Shape batch = index_batch(a.axes, indices.shape);
  const Dims kept = kept_axes(a.axes, operand.rank());
  Shape shape;
  for (size_t axis = 0, window = 0, other = 0; axis < rank; ++axis) {
    shape.push_back(a.axes.window.contains(static_cast<int64_t>(axis)) ? a.sizes[kept[window++]]
                                                                       : batch[other++]);
  }
  c.result({operand.dtype, shape});
}

void eval_gather(EvalContext& c) {
  const auto& a = c.attributes<GatherAttributes>();
  const Shape &operand = c.in(0).type->shape, &out = c.out(0).type->shape;
  if (num_elements(operand) == 0) {
    if (c.out(0).type->bytes()) std::memset(c.out(0).data, 0, c.out(0).type->bytes());
    return;
  }
  const Dims strides = row_major_strides(operand), out_strides = row_major_strides(out);
  Shape box;
  Dims from, to;
  const Dims kept = kept_axes(a.axes, operand.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    box.push_back(a.sizes[kept[i]]);
    from.push_back(strides[kept[i]]);
    to.push_back(out_strides[a.axes.window[i]]);
  }
  each_window(a.axes, operand.size(), c.in(1), out, [&](const Dims& start, int64_t base) {
    int64_t offset = 0;
    // Where a window has no size along an axis that the result lacks it reads one element there.
    for (size_t i = 0; i < start.size(); ++i)
      offset += std::clamp<int64_t>(start[i], 0, operand[i] - std::max<int64_t>(a.sizes[i], 1)) * strides[i];
    copy_box(c.in(0), from, offset, c.out(0), to, base, box);
  });
}

void gradient_gather(GradientContext& c) {
  if (!c.wants(0)) return;
  const auto& a = c.attributes<GatherAttributes>();
  const Tensor starts = clamp_starts(c.in(1), a.axes, c.in(0).shape(), a.sizes);
  c.set(0,
        scatter_add(constant_like(c.in(0).type(), 0), starts, c.cotangent(), a.axes, {.sorted = a.sorted}));
}

void batch_gather(BatchContext& c) {
  const auto& a = c.attributes<GatherAttributes>();
  Dims sizes = a.sizes;
  if (c.batched[0]) sizes.insert(0, c.batched[1] ? 1 : c.size);
  const IndexAxes axes = !c.batched[1]  ? batch_operand(a.axes)
                         : c.batched[0] ? batch_both(a.axes)
                                        : batch_indices(a.axes);
  c.outputs = {gather(c.in(0), c.in(1), axes, sizes, {.sorted = a.sorted && !c.batched[1]})};
}

Cost cost_gather(const Attributes*, std::span<const TensorType* const> inputs,
                 std::span<const TensorType> outputs) {
  return {0, static_cast<double>(inputs[1]->bytes() + 2 * outputs[0].bytes())};
}

}  // namespace

const OpDef op_gather = {
    .name = "gather",
    .doc =
        "For each index vector, the window of `slice_sizes` of the operand that starts there; starts are "
        "clamped so that windows fit. c1: integer indices. c2: index_vector_dim in range. c3: one distinct "
        "operand axis per component. c4: window, collapsed and batching axes are the operand's. c5, c6, "
        "c7: distinct axes in range, ascending. c8: batching axes pair up. c9: slice sizes fit. c10: they "
        "are at most 1 in collapsed and batching axes.",
    .attributes = make_attributes<GatherAttributes>,
    .infer = infer_gather,
    .eval = eval_gather,
    .gradient = gradient_gather,
    .batch = batch_gather,
    .cost = cost_gather,
    .sample =
        [](DType dtype) {
          gather(constant_like({dtype, {2}}, 1), constant_like({DType::kI32, {2}}, 0),
                 {.collapsed = {0}, .index_map = {0}, .index_vector = 1}, {1});
        },
};

Tensor gather(Operand x, Operand indices, const IndexAxes& axes, const Dims& slice_sizes,
              const IndexHints& hints) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<GatherAttributes>();
  attributes->axes = axes;
  attributes->sizes = slice_sizes;
  attributes->sorted = hints.sorted;
  return emit(op_gather, attributes, {x.tensor(), indices.tensor()});
}

Tensor take_along_axis(Operand operand, Operand indices, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  axis = normalize_axis("take_along_axis", axis, x.rank());
  const Tensor places = checked_indices("take_along_axis", indices.tensor(), x.shape()[axis]);
  if (x.shape()[axis] == 0 && places.type().elements() > 0) {
    throw ShapeError("take_along_axis.range",
                     cat("picks from axis ", axis, " of ", x.type(), ", which is empty"));
  }
  Shape shape = places.shape(), sizes;
  shape.push_back(1);
  // One element of each axis, or none where there is none.
  for (const int64_t size : x.shape()) sizes.push_back(std::min<int64_t>(size, 1));
  return gather(x, reshape(places, shape), along_axis(x.rank(), axis), sizes);
}

}  // namespace espalier
