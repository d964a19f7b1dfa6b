#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct ReverseAttributes final : Attributes {
  Dims axes;
  void fields(FieldVisitor& v) override { v.field("dimensions", axes); }
};

void infer_reverse(InferContext& c) {
  c.require_inputs(1);
  const Dims& axes = c.attributes<ReverseAttributes>().axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    c.require_axis(axes[i], c.in(0).rank(), "c1");
    for (size_t j = 0; j < i; ++j) c.require(axes[i] != axes[j], "c2", "axes must be distinct: ", axes);
  }
  c.result(c.in(0));
}

void eval_reverse(EvalContext& c) {
  const Shape& shape = c.in(0).type->shape;
  Dims strides = row_major_strides(shape);
  int64_t base = 0;
  for (const int64_t axis : c.attributes<ReverseAttributes>().axes) {
    base += (shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  gather_strided(c.in(0), c.out(0), strides, base);
}

void gradient_reverse(GradientContext& c) {
  c.set(0, reverse(c.cotangent(), c.attributes<ReverseAttributes>().axes));
}

void batch_reverse(BatchContext& c) {
  Dims axes = c.attributes<ReverseAttributes>().axes;
  for (int64_t& axis : axes) ++axis;
  c.outputs = {reverse(c.in(0), axes)};
}

}  // namespace

const OpDef op_reverse = {
    .name = "reverse",
    .doc = "The order of elements along `dimensions` turned round. c1: axes in range. c2: distinct.",
    .attributes = make_attributes<ReverseAttributes>,
    .infer = infer_reverse,
    .eval = eval_reverse,
    .gradient = gradient_reverse,
    .batch = batch_reverse,
    .fusion = Fusion::kView,
};

Tensor reverse(Operand x, const Dims& axes) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<ReverseAttributes>();
  for (const int64_t axis : axes)
    attributes->axes.push_back(normalize_axis("reverse", axis, x.tensor().rank()));
  return emit(op_reverse, attributes, {x.tensor()});
}

}  // namespace espalier
