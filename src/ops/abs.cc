#include "ops/elementwise.h"

namespace espalier {
namespace {

struct AbsApply {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x)) : x;
    } else {
      return std::abs(x);
    }
  }
};

void gradient_abs(GradientContext& c) { c.set(0, c.cotangent() * sign(c.in(0))); }

}  // namespace

const OpDef op_abs = {
    .name = "abs",
    .doc =
        "Absolute value; the smallest integer wraps to itself. The gradient at 0 is 0. c1: floating-point or "
        "signed elements.",
    .infer = infer_unary<kFloats | kSigned>,
    .eval = eval_unary<AbsApply, kFloats | kSigned>,
    .gradient = gradient_abs,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor abs(Operand x) { return unary(op_abs, x); }

}  // namespace espalier
