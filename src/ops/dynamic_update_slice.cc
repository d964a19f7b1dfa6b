#include "ops/indexed.h"

namespace espalier {
namespace {

void infer_dynamic_update_slice(InferContext& c) {
  c.require(c.size() >= 2, "arity", "takes an operand, an update and a start per axis");
  c.require_dtype(c.in(0).dtype == c.in(1).dtype, "c1", "dtypes must be equal: ", c.in(0), " and ", c.in(1));
  c.require(c.in(0).rank() == c.in(1).rank(), "c2", "ranks must be equal: ", c.in(0), " and ", c.in(1));
  for (size_t i = 0; i < c.in(0).rank(); ++i) {
    c.require(c.in(1).shape[i] <= c.in(0).shape[i], "c3", "the update must fit: axis ", i, " of ", c.in(0),
              " and ", c.in(1));
  }
  check_starts(c, 2, "c4");
  c.result(c.in(0));
}

void eval_dynamic_update_slice(EvalContext& c) {
  const Shape &shape = c.in(0).type->shape, &box = c.in(1).type->shape;
  if (c.in(0).type->bytes()) std::memcpy(c.out(0).data, c.in(0).data, c.in(0).type->bytes());
  const Dims strides = row_major_strides(shape);
  const Dims start = clamped_starts(c.inputs.subspan(2), shape, box);
  copy_box(c.in(1), row_major_strides(box), 0, c.out(0), strides, offset_of(start, strides), box);
}

void gradient_dynamic_update_slice(GradientContext& c) {
  const Tensor g = c.cotangent();
  const std::vector<Tensor> starts = starts_of(c.inputs, 2);
  if (c.wants(0)) c.set(0, dynamic_update_slice(g, constant_like(c.in(1).type(), 0), starts));
  if (c.wants(1)) c.set(1, dynamic_slice(g, starts, c.in(1).shape()));
}

void batch_dynamic_update_slice(BatchContext& c) {
  const Tensor x = batch_expand(c, 0), update = batch_expand(c, 1);
  std::vector<Tensor> starts = starts_of(c.inputs, 2);
  if (!any_batched(c, 2)) {
    const DType dtype = starts.empty() ? DType::kI64 : starts[0].dtype();
    starts.insert(starts.begin(), constant_like({dtype, {}}, 0));
    c.outputs = {dynamic_update_slice(x, update, starts)};
    return;
  }
  const IndexAxes axes = batch_both(window_axes(x.rank() - 1));
  const Tensor indices = clamp_starts(stack_starts(c, 2), axes, x.shape(), update.shape());
  c.outputs = {scatter_update(x, indices, update, axes, {.unique = true})};
}

}  // namespace

const OpDef op_dynamic_update_slice = {
    .name = "dynamic_update_slice",
    .doc =
        "The operand with the box at a start, given by one scalar per axis, replaced by the update; a start "
        "is clamped so that the box fits. c1: one dtype. c2: one rank. c3: the update fits. c4: a scalar "
        "integer start per axis, of one dtype.",
    .infer = infer_dynamic_update_slice,
    .eval = eval_dynamic_update_slice,
    .gradient = gradient_dynamic_update_slice,
    .batch = batch_dynamic_update_slice,
};

Tensor dynamic_update_slice(Operand x, Operand update, const std::vector<Tensor>& starts) {
  CallScope scope(x.at());
  std::vector<Tensor> inputs{x.tensor(), update.tensor()};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return emit(op_dynamic_update_slice, nullptr, inputs);
}

}  // namespace espalier
