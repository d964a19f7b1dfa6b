#include "ops/elementwise.h"

namespace espalier {
namespace {

struct ExponentialMinusOneApply {
  template <class T>
  static T apply(T x) {
    return std::expm1(x);
  }
};

// Not from the result, which rounds to -1 where exp(x) is still a number.
void gradient_exponential_minus_one(GradientContext& c) { c.set(0, c.cotangent() * exponential(c.in(0))); }

}  // namespace

const OpDef op_exponential_minus_one = {
    .name = "exponential_minus_one",
    .doc = "e to the power of x, minus one; exact near zero. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<ExponentialMinusOneApply, kFloats>,
    .gradient = gradient_exponential_minus_one,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 12,
};

Tensor exponential_minus_one(Operand x) { return unary(op_exponential_minus_one, x); }

}  // namespace espalier
