#include "base/elementary.h"
#include "ops/elementwise.h"

namespace espalier {
namespace {

struct ExponentialApply {
  template <class T>
  static T apply(T x) {
    return elementary_exp(x);
  }
};

void gradient_exponential(GradientContext& c) { c.set(0, c.cotangent() * c.out(0)); }

}  // namespace

const OpDef op_exponential = {
    .name = "exponential",
    .doc = "e to the power of x. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<ExponentialApply, kFloats>,
    .gradient = gradient_exponential,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 10,
};

Tensor exponential(Operand x) { return unary(op_exponential, x); }

}  // namespace espalier
