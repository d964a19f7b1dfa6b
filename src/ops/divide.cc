#include "ops/elementwise.h"

namespace espalier {
namespace {

struct DivideApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(-1);
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

void gradient_divide(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent() / c.in(1));
  if (c.wants(1)) c.set(1, -(c.cotangent() * c.out(0)) / c.in(1));
}

}  // namespace

const OpDef op_divide = {
    .name = "divide",
    .doc =
        "a / b. Integers truncate toward zero; division by zero gives all bits set, the smallest value over "
        "-1 wraps. c1: floating-point or integer elements. c2: operands have one type.",
    .infer = infer_binary<kNumbers>,
    .eval = eval_binary<DivideApply, kNumbers>,
    .gradient = gradient_divide,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor divide(Operand a, Operand b) { return binary(op_divide, a, b); }

}  // namespace espalier
