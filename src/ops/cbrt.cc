#include "ops/elementwise.h"

namespace espalier {
namespace {

struct CbrtApply {
  template <class T>
  static T apply(T x) {
    return std::cbrt(x);
  }
};

// Divided twice: the derivative of a square in the denominator would be 0 times infinity at 0.
void gradient_cbrt(GradientContext& c) { c.set(0, c.cotangent() / 3 / c.out(0) / c.out(0)); }

}  // namespace

const OpDef op_cbrt = {
    .name = "cbrt",
    .doc = "Cube root, negative below zero. The gradient at 0 is infinite. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<CbrtApply, kFloats>,
    .gradient = gradient_cbrt,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 15,
};

Tensor cbrt(Operand x) { return unary(op_cbrt, x); }

}  // namespace espalier
