#include "ops/elementwise.h"

namespace espalier {
namespace {

struct LogApply {
  template <class T>
  static T apply(T x) {
    return std::log(x);
  }
};

void gradient_log(GradientContext& c) { c.set(0, c.cotangent() / c.in(0)); }

}  // namespace

const OpDef op_log = {
    .name = "log",
    .doc = "Natural logarithm; NaN below zero. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<LogApply, kFloats>,
    .gradient = gradient_log,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 10,
};

Tensor log(Operand x) { return unary(op_log, x); }

}  // namespace espalier
