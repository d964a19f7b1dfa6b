#include "ops/elementwise.h"

namespace espalier {
namespace {

struct SqrtApply {
  template <class T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};

void gradient_sqrt(GradientContext& c) { c.set(0, c.cotangent() * 0.5 / c.out(0)); }

}  // namespace

const OpDef op_sqrt = {
    .name = "sqrt",
    .doc = "Square root, correctly rounded; NaN below zero. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SqrtApply, kFloats>,
    .gradient = gradient_sqrt,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 4,
};

Tensor sqrt(Operand x) { return unary(op_sqrt, x); }

}  // namespace espalier
