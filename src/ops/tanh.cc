#include "base/elementary.h"
#include "ops/composite/slopes.h"

namespace espalier {
namespace {

struct TanhApply {
  template <class T>
  static T apply(T x) {
    return elementary_tanh(x);
  }
};

void gradient_tanh(GradientContext& c) { c.set(0, c.cotangent() * tanh_slope(c.in(0))); }

}  // namespace

const OpDef op_tanh = {
    .name = "tanh",
    .doc = "Hyperbolic tangent. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<TanhApply, kFloats>,
    .gradient = gradient_tanh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 15,
};

Tensor tanh(Operand x) { return unary(op_tanh, x); }

}  // namespace espalier
