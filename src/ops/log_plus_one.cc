#include "ops/elementwise.h"

namespace espalier {
namespace {

struct LogPlusOneApply {
  template <class T>
  static T apply(T x) {
    return std::log1p(x);
  }
};

void gradient_log_plus_one(GradientContext& c) { c.set(0, c.cotangent() / (c.in(0) + 1)); }

}  // namespace

const OpDef op_log_plus_one = {
    .name = "log_plus_one",
    .doc = "Natural logarithm of 1 + x, exact near zero; NaN below -1. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<LogPlusOneApply, kFloats>,
    .gradient = gradient_log_plus_one,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 12,
};

Tensor log_plus_one(Operand x) { return unary(op_log_plus_one, x); }

}  // namespace espalier
