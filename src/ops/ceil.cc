#include "ops/elementwise.h"

namespace espalier {
namespace {

struct CeilApply {
  template <class T>
  static T apply(T x) {
    return std::ceil(x);
  }
};

}  // namespace

const OpDef op_ceil = {
    .name = "ceil",
    .doc = "The smallest integer not below x. The gradient is 0. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<CeilApply, kFloats>,
    .no_gradient = "piecewise constant: zero wherever it is defined",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor ceil(Operand x) { return unary(op_ceil, x); }

}  // namespace espalier
