#include "ops/elementwise.h"

namespace espalier {
namespace {

struct SignApply {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > 0) - (x < 0));
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x;
    }
  }
};

}  // namespace

const OpDef op_sign = {
    .name = "sign",
    .doc = "-1, 0 or 1; keeps -0 and NaN. The gradient is 0. c1: floating-point or signed elements.",
    .infer = infer_unary<kFloats | kSigned>,
    .eval = eval_unary<SignApply, kFloats | kSigned>,
    .no_gradient = "piecewise constant: zero wherever it is defined",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor sign(Operand x) { return unary(op_sign, x); }

}  // namespace espalier
