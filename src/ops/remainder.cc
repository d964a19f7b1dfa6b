#include "ops/elementwise.h"

namespace espalier {
namespace {

struct RemainderApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return a;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};

void gradient_remainder(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent());
  if (c.wants(1)) c.set(1, -(c.cotangent() * round_nearest_even((c.in(0) - c.out(0)) / c.in(1))));
}

}  // namespace

const OpDef op_remainder = {
    .name = "remainder",
    .doc =
        "a - b * trunc(a / b), exactly: the sign is that of a. Integers over zero give a; floats over zero "
        "NaN. c1: floating-point or integer elements. c2: operands have one type.",
    .infer = infer_binary<kNumbers>,
    .eval = eval_binary<RemainderApply, kNumbers>,
    .gradient = gradient_remainder,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 10,
};

Tensor remainder(Operand a, Operand b) { return binary(op_remainder, a, b); }

}  // namespace espalier
