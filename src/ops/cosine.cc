#include "ops/elementwise.h"

namespace espalier {
namespace {

struct CosineApply {
  template <class T>
  static T apply(T x) {
    return std::cos(x);
  }
};

void gradient_cosine(GradientContext& c) { c.set(0, -(c.cotangent() * sine(c.in(0)))); }

}  // namespace

const OpDef op_cosine = {
    .name = "cosine",
    .doc = "Cosine of x in radians. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<CosineApply, kFloats>,
    .gradient = gradient_cosine,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 15,
};

Tensor cosine(Operand x) { return unary(op_cosine, x); }

}  // namespace espalier
