#include "ops/elementwise.h"

namespace espalier {
namespace {

struct AddApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

void gradient_add(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent());
  if (c.wants(1)) c.set(1, c.cotangent());
}

}  // namespace

const OpDef op_add = {
    .name = "add",
    .doc = "a + b; integers wrap, bool is or. c1: any elements. c2: operands have one type.",
    .infer = infer_binary<kAnyDType>,
    .eval = eval_binary<AddApply, kAnyDType>,
    .gradient = gradient_add,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor add(Operand a, Operand b) { return binary(op_add, a, b); }

}  // namespace espalier
