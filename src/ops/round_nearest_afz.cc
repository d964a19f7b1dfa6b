#include "ops/elementwise.h"

namespace espalier {
namespace {

struct RoundNearestAfzApply {
  template <class T>
  static T apply(T x) {
    return std::round(x);
  }
};

}  // namespace

const OpDef op_round_nearest_afz = {
    .name = "round_nearest_afz",
    .doc = "The nearest integer, halves away from zero. The gradient is 0. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<RoundNearestAfzApply, kFloats>,
    .no_gradient = "piecewise constant: zero wherever it is defined",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor round_nearest_afz(Operand x) { return unary(op_round_nearest_afz, x); }

}  // namespace espalier
