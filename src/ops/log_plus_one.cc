#include "ops/elementwise.h"

namespace espalier {
namespace {

struct Apply {
  template <class T>
  static T apply(T x) {
    return std::log1p(x);
  }
};

void gradient(GradientContext& c) { c.set(0, c.cotangent() / (c.in(0) + 1)); }

}  // namespace

const OpDef op_log_plus_one = {
    .name = "log_plus_one",
    .doc = "Natural logarithm of 1 + x, exact near zero; NaN below -1. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Apply, kFloats>,
    .gradient = gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kDeny,
    .flops_per_output = 12,
};

Tensor log_plus_one(Operand x) { return unary(op_log_plus_one, x); }

}  // namespace espalier
