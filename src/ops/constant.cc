#include "ir/constant.h"

#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_constant(InferContext& c) {
  c.require_inputs(0);
  c.result(c.attributes<ConstantAttributes>().value.type());
}

void eval_constant(EvalContext& c) {
  const Literal& value = c.attributes<ConstantAttributes>().value;
  if (value.is_splat()) {
    fill_elements(c.out(0).data, value.raw(), size_of(value.type().dtype), value.type().elements());
  } else if (value.raw_bytes()) {
    std::memcpy(c.out(0).data, value.raw(), value.raw_bytes());
  }
}

}  // namespace

const OpDef op_constant = {
    .name = "constant",
    .doc = "The array `value`. A splat stays one stored element.",
    .attributes = make_attributes<ConstantAttributes>,
    .infer = infer_constant,
    .eval = eval_constant,
    .no_gradient = "has no inputs",
    .batch = batch_elementwise,
};

Tensor full(const Shape& shape, double value, DType dtype, Location at) {
  CallScope scope(at);
  const TensorType type{dtype, shape};
  check_type(type);
  if (!holds(dtype, value)) throw ValueError("full.value", cat(dtype, " does not hold ", value));
  return constant_like(type, value);
}

}  // namespace espalier
