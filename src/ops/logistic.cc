#include "base/elementary.h"
#include "ops/composite/slopes.h"

namespace espalier {
namespace {

struct LogisticApply {
  template <class T>
  static T apply(T x) {
    return elementary_logistic(x);
  }
};

void gradient_logistic(GradientContext& c) { c.set(0, c.cotangent() * logistic_slope(c.in(0))); }

}  // namespace

const OpDef op_logistic = {
    .name = "logistic",
    .doc = "The sigmoid 1 / (1 + exp(-x)). c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<LogisticApply, kFloats>,
    .gradient = gradient_logistic,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 12,
};

Tensor logistic(Operand x) { return unary(op_logistic, x); }

}  // namespace espalier
