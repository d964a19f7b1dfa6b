#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct ReshapeAttributes final : Attributes {
  Shape shape;
  void fields(FieldVisitor& v) override { v.field("shape", shape); }
};

void infer_reshape(InferContext& c) {
  c.require_inputs(1);
  const Shape& shape = c.attributes<ReshapeAttributes>().shape;
  c.require(num_elements(shape) == c.in(0).elements(), "c1", "element counts must be equal: ", c.in(0),
            " has ", c.in(0).elements(), ", ", shape, " has ", num_elements(shape));
  c.result({c.in(0).dtype, shape});
}

void eval_reshape(EvalContext& c) {
  if (c.in(0).data != c.out(0).data && c.in(0).type->bytes())
    std::memcpy(c.out(0).data, c.in(0).data, c.in(0).type->bytes());
}

void gradient_reshape(GradientContext& c) { c.set(0, reshape(c.cotangent(), c.in(0).shape())); }

void batch_reshape(BatchContext& c) {
  Shape shape = c.attributes<ReshapeAttributes>().shape;
  shape.insert(0, c.size);
  c.outputs = {reshape(c.in(0), shape)};
}

}  // namespace

const OpDef op_reshape = {
    .name = "reshape",
    .doc = "The same elements in row-major order under another shape. c1: equal element counts.",
    .attributes = make_attributes<ReshapeAttributes>,
    .infer = infer_reshape,
    .eval = eval_reshape,
    .gradient = gradient_reshape,
    .batch = batch_reshape,
    .fusion = Fusion::kView,
};

Tensor reshape(Operand x, const Shape& shape) {
  CallScope scope(x.at());
  if (x.tensor().shape() == shape) return x.tensor();
  Shape full = shape;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i] != -1) continue;
    int64_t rest = 1;
    for (size_t j = 0; j < full.size(); ++j) rest *= j == i ? 1 : full[j];
    if (rest > 0) full[i] = x.tensor().type().elements() / rest;
    break;
  }
  auto attributes = std::make_shared<ReshapeAttributes>();
  attributes->shape = full;
  return emit(op_reshape, attributes, {x.tensor()});
}

}  // namespace espalier
