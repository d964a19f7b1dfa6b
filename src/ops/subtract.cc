#include "ops/elementwise.h"

namespace espalier {
namespace {

struct SubtractApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};

void gradient_subtract(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent());
  if (c.wants(1)) c.set(1, -c.cotangent());
}

}  // namespace

const OpDef op_subtract = {
    .name = "subtract",
    .doc = "a - b; integers wrap. c1: floating-point or integer elements. c2: operands have one type.",
    .infer = infer_binary<kNumbers>,
    .eval = eval_binary<SubtractApply, kNumbers>,
    .gradient = gradient_subtract,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor subtract(Operand a, Operand b) { return binary(op_subtract, a, b); }

}  // namespace espalier
