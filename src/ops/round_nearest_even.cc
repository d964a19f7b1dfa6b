#include "ops/elementwise.h"

namespace espalier {
namespace {

struct RoundNearestEvenApply {
  template <class T>
  static T apply(T x) {
    return std::nearbyint(x);
  }
};

}  // namespace

const OpDef op_round_nearest_even = {
    .name = "round_nearest_even",
    .doc = "The nearest integer, halves to the even one. The gradient is 0. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<RoundNearestEvenApply, kFloats>,
    .no_gradient = "piecewise constant: zero wherever it is defined",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor round_nearest_even(Operand x) { return unary(op_round_nearest_even, x); }

}  // namespace espalier
