#include "ops/elementwise.h"

namespace espalier {
namespace {

struct Apply {
  template <class T>
  static T apply(T x) {
    return std::log(x);
  }
};

void gradient(GradientContext& c) { c.set(0, c.cotangent() / c.in(0)); }

}  // namespace

const OpDef op_log = {
    .name = "log",
    .doc = "Natural logarithm; NaN below zero. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Apply, kFloats>,
    .gradient = gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kInfer,
    .flops_per_output = 10,
};

Tensor log(Operand x) { return unary(op_log, x); }

}  // namespace espalier
