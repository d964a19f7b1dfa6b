#include "ops/elementwise.h"

namespace espalier {
namespace {

struct TanApply {
  template <class T>
  static T apply(T x) {
    return std::tan(x);
  }
};

void gradient_tan(GradientContext& c) { c.set(0, c.cotangent() * (c.out(0) * c.out(0) + 1)); }

}  // namespace

const OpDef op_tan = {
    .name = "tan",
    .doc = "Tangent of x in radians. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<TanApply, kFloats>,
    .gradient = gradient_tan,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 20,
};

Tensor tan(Operand x) { return unary(op_tan, x); }

}  // namespace espalier
