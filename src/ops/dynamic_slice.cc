#include "ops/indexed.h"

namespace espalier {
namespace {

struct DynamicSliceAttributes final : Attributes {
  Dims sizes;
  void fields(FieldVisitor& v) override { v.field("slice_sizes", sizes); }
};

void infer_dynamic_slice(InferContext& c) {
  const Dims& sizes = c.attributes<DynamicSliceAttributes>().sizes;
  c.require(c.size() >= 1, "arity", "takes an operand and a start per axis");
  c.require(sizes.size() == c.in(0).rank(), "c1", "needs one size per axis of ", c.in(0), ", got ", sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.require(0 <= sizes[i] && sizes[i] <= c.in(0).shape[i], "c2", "size ", sizes[i], " does not fit axis ",
              i, " of ", c.in(0));
  }
  check_starts(c, 1, "c3");
  c.result({c.in(0).dtype, sizes});
}

void eval_dynamic_slice(EvalContext& c) {
  const Dims& sizes = c.attributes<DynamicSliceAttributes>().sizes;
  const Dims strides = row_major_strides(c.in(0).type->shape);
  const Dims start = clamped_starts(c.inputs.subspan(1), c.in(0).type->shape, sizes);
  gather_strided(c.in(0), c.out(0), strides, offset_of(start, strides));
}

void gradient_dynamic_slice(GradientContext& c) {
  if (c.wants(0))
    c.set(0, dynamic_update_slice(constant_like(c.in(0).type(), 0), c.cotangent(), starts_of(c.inputs, 1)));
}

void batch_dynamic_slice(BatchContext& c) {
  Dims sizes = c.attributes<DynamicSliceAttributes>().sizes;
  std::vector<Tensor> starts = starts_of(c.inputs, 1);
  if (!any_batched(c, 1)) {
    const DType dtype = starts.empty() ? DType::kI64 : starts[0].dtype();
    starts.insert(starts.begin(), constant_like({dtype, {}}, 0));
    sizes.insert(0, c.size);
    c.outputs = {dynamic_slice(c.in(0), starts, sizes)};
    return;
  }
  IndexAxes axes = window_axes(c.in(0).rank() - c.batched[0]);
  if (c.batched[0]) {
    axes = batch_both(axes);
    sizes.insert(0, 1);
  } else {
    axes = batch_indices(axes);
  }
  c.outputs = {gather(c.in(0), stack_starts(c, 1), axes, sizes)};
}

}  // namespace

const OpDef op_dynamic_slice = {
    .name = "dynamic_slice",
    .doc =
        "The box of `slice_sizes` at a start given by one scalar per axis; a start is clamped so that the "
        "box fits. c1: one size per axis. c2: sizes fit. c3: a scalar integer start per axis, of one dtype.",
    .attributes = make_attributes<DynamicSliceAttributes>,
    .infer = infer_dynamic_slice,
    .eval = eval_dynamic_slice,
    .gradient = gradient_dynamic_slice,
    .batch = batch_dynamic_slice,
};

Tensor dynamic_slice(Operand x, const std::vector<Tensor>& starts, const Dims& sizes) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<DynamicSliceAttributes>();
  attributes->sizes = sizes;
  std::vector<Tensor> inputs{x.tensor()};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return emit(op_dynamic_slice, attributes, inputs);
}

}  // namespace espalier
