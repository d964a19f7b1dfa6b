#include "ops/elementwise.h"

namespace espalier {
namespace {

struct FloorApply {
  template <class T>
  static T apply(T x) {
    return std::floor(x);
  }
};

}  // namespace

const OpDef op_floor = {
    .name = "floor",
    .doc = "The largest integer not above x. The gradient is 0. c1: floating-point elements.",
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<FloorApply, kFloats>,
    .no_gradient = "piecewise constant: zero wherever it is defined",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor floor(Operand x) { return unary(op_floor, x); }

}  // namespace espalier
