#include "ops/elementwise.h"

namespace espalier {
namespace {

struct Apply {
  template <class T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};

void gradient(GradientContext& c) { c.set(0, c.cotangent() * 0.5 / c.out(0)); }

}  // namespace

const OpDef op_sqrt = {
    .name = "sqrt",
    .doc = "Square root, correctly rounded; NaN below zero. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Apply, kFloats>,
    .gradient = gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kInfer,
    .flops_per_output = 4,
};

Tensor sqrt(Operand x) { return unary(op_sqrt, x); }

}  // namespace espalier
