#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct TransposeAttributes final : Attributes {
  Dims permutation;
  void fields(FieldVisitor& v) override { v.field("permutation", permutation); }
};

void infer_transpose(InferContext& c) {
  c.require_inputs(1);
  const Dims& permutation = c.attributes<TransposeAttributes>().permutation;
  c.require(permutation.size() == c.in(0).rank(), "c1", "needs a permutation of ", c.in(0).rank(),
            " axes, got ", permutation);
  Shape shape;
  for (size_t i = 0; i < permutation.size(); ++i) {
    c.require_axis(permutation[i], c.in(0).rank(), "c1");
    for (size_t j = 0; j < i; ++j)
      c.require(permutation[i] != permutation[j], "c1", "axes must be distinct: ", permutation);
    shape.push_back(c.in(0).shape[permutation[i]]);
  }
  c.result({c.in(0).dtype, shape});
}

void eval_transpose(EvalContext& c) {
  const Dims& permutation = c.attributes<TransposeAttributes>().permutation;
  const Dims source = row_major_strides(c.in(0).type->shape);
  Dims strides;
  for (const int64_t axis : permutation) strides.push_back(source[axis]);
  gather_strided(c.in(0), c.out(0), strides, 0);
}

void gradient_transpose(GradientContext& c) {
  const Dims& permutation = c.attributes<TransposeAttributes>().permutation;
  Dims inverse = Dims::filled(permutation.size(), 0);
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  c.set(0, transpose(c.cotangent(), inverse));
}

void batch_transpose(BatchContext& c) {
  Dims permutation{0};
  for (const int64_t axis : c.attributes<TransposeAttributes>().permutation) permutation.push_back(axis + 1);
  c.outputs = {transpose(c.in(0), permutation)};
}

}  // namespace

const OpDef op_transpose = {
    .name = "transpose",
    .doc = "Axis i of the result is axis permutation[i] of the operand. c1: a permutation of all axes.",
    .attributes = make_attributes<TransposeAttributes>,
    .infer = infer_transpose,
    .eval = eval_transpose,
    .gradient = gradient_transpose,
    .batch = batch_transpose,
    .fusion = Fusion::kView,
};

Tensor transpose(Operand x, const Dims& permutation) {
  CallScope scope(x.at());
  if (permutation == Dims::range(x.tensor().rank())) return x.tensor();
  auto attributes = std::make_shared<TransposeAttributes>();
  attributes->permutation = permutation;
  return emit(op_transpose, attributes, {x.tensor()});
}

}  // namespace espalier
