#include "ops/elementwise.h"

namespace espalier {
namespace {

struct NegateApply {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
    } else {
      return -x;
    }
  }
};

void gradient_negate(GradientContext& c) { c.set(0, -c.cotangent()); }

}  // namespace

const OpDef op_negate = {
    .name = "negate",
    .doc = "Minus x; integers wrap. c1: floating-point or integer elements.",
    .infer = infer_unary<kNumbers>,
    .eval = eval_unary<NegateApply, kNumbers>,
    .gradient = gradient_negate,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor negate(Operand x) { return unary(op_negate, x); }

}  // namespace espalier
