#include "ops/elementwise.h"

namespace espalier {
namespace {

struct RsqrtApply {
  template <class T>
  static T apply(T x) {
    return 1 / std::sqrt(x);
  }
};

void gradient_rsqrt(GradientContext& c) { c.set(0, c.cotangent() * -0.5 * c.out(0) / c.in(0)); }

}  // namespace

const OpDef op_rsqrt = {
    .name = "rsqrt",
    .doc = "1 / sqrt(x): infinite with the sign of x at 0, NaN below. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<RsqrtApply, kFloats>,
    .gradient = gradient_rsqrt,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 5,
};

Tensor rsqrt(Operand x) { return unary(op_rsqrt, x); }

}  // namespace espalier
