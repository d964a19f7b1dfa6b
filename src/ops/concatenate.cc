#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct ConcatenateAttributes final : Attributes {
  int64_t axis = 0;
  void fields(FieldVisitor& v) override { v.field("dimension", axis); }
};

void infer_concatenate(InferContext& c) {
  const int64_t axis = c.attributes<ConcatenateAttributes>().axis;
  c.require(c.size() > 0, "arity", "takes one or more inputs");
  c.require_axis(axis, c.in(0).rank(), "c3");
  TensorType out = c.in(0);
  for (size_t k = 1; k < c.size(); ++k) {
    c.require_dtype(c.in(k).dtype == out.dtype, "c1", "dtypes must be equal: input 0 is ", c.in(0),
                    ", input ", k, " is ", c.in(k));
    Shape shape = c.in(k).shape;
    if (shape.size() == out.rank()) shape[axis] = c.in(0).shape[axis];
    c.require(shape == c.in(0).shape, "c2", "inputs must match except in axis ", axis, ": input 0 is ",
              c.in(0), ", input ", k, " is ", c.in(k));
    out.shape[axis] += c.in(k).shape[axis];
  }
  c.result(out);
}

void eval_concatenate(EvalContext& c) {
  const int64_t axis = c.attributes<ConcatenateAttributes>().axis;
  const Dims out_strides = row_major_strides(c.out(0).type->shape);
  int64_t base = 0;
  for (const ArrayView& in : c.inputs) {
    copy_box(in, row_major_strides(in.type->shape), 0, c.out(0), out_strides, base, in.type->shape);
    base += in.type->shape[axis] * out_strides[axis];
  }
}

void gradient_concatenate(GradientContext& c) {
  const int64_t axis = c.attributes<ConcatenateAttributes>().axis;
  const Tensor g = c.cotangent();
  Dims start = Dims::filled(g.rank(), 0), limit = g.shape();
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    limit[axis] = start[axis] + c.in(k).shape()[axis];
    if (c.wants(k)) c.set(k, slice(g, start, limit));
    start[axis] = limit[axis];
  }
}

void batch_concatenate(BatchContext& c) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(batch_expand(c, k));
  c.outputs = {concatenate(inputs, c.attributes<ConcatenateAttributes>().axis + 1)};
}

}  // namespace

const OpDef op_concatenate = {
    .name = "concatenate",
    .doc =
        "Inputs one behind the other along `dimension`. c1: one dtype. c2: shapes equal in the other axes. "
        "c3: axis in range.",
    .attributes = make_attributes<ConcatenateAttributes>,
    .infer = infer_concatenate,
    .eval = eval_concatenate,
    .gradient = gradient_concatenate,
    .batch = batch_concatenate,
};

Tensor concatenate(const std::vector<Tensor>& inputs, int64_t axis, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<ConcatenateAttributes>();
  attributes->axis = inputs.empty() ? axis : normalize_axis("concatenate", axis, inputs[0].rank());
  return emit(op_concatenate, attributes, inputs);
}

}  // namespace espalier
