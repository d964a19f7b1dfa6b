#include "ops/elementwise.h"

namespace espalier {
namespace {

struct MultiplyApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

void gradient_multiply(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent() * c.in(1));
  if (c.wants(1)) c.set(1, c.cotangent() * c.in(0));
}

}  // namespace

const OpDef op_multiply = {
    .name = "multiply",
    .doc = "a * b; integers wrap, bool is and. c1: any elements. c2: operands have one type.",
    .infer = infer_binary<kAnyDType>,
    .eval = eval_binary<MultiplyApply, kAnyDType>,
    .gradient = gradient_multiply,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor multiply(Operand a, Operand b) { return binary(op_multiply, a, b); }

}  // namespace espalier
