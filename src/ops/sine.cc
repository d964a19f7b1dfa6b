#include "ops/elementwise.h"

namespace espalier {
namespace {

struct SineApply {
  template <class T>
  static T apply(T x) {
    return std::sin(x);
  }
};

void gradient_sine(GradientContext& c) { c.set(0, c.cotangent() * cosine(c.in(0))); }

}  // namespace

const OpDef op_sine = {
    .name = "sine",
    .doc = "Sine of x in radians. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SineApply, kFloats>,
    .gradient = gradient_sine,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 15,
};

Tensor sine(Operand x) { return unary(op_sine, x); }

}  // namespace espalier
