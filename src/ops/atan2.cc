#include "ops/elementwise.h"

namespace espalier {
namespace {

struct Atan2Apply {
  template <class T>
  static T apply(T a, T b) {
    return std::atan2(a, b);
  }
};

void gradient_atan2(GradientContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const Tensor scaled = c.cotangent() / (a * a + b * b);
  if (c.wants(0)) c.set(0, scaled * b);
  if (c.wants(1)) c.set(1, -(scaled * a));
}

}  // namespace

const OpDef op_atan2 = {
    .name = "atan2",
    .doc =
        "The angle of the point (b, a), in [-pi, pi]. The gradient at (0, 0) is NaN. c1: floating-point "
        "elements. c2: operands have one type.",
    .infer = infer_binary<kFloats>,
    .eval = eval_binary<Atan2Apply, kFloats>,
    .gradient = gradient_atan2,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kDeny,
    .flops_per_output = 25,
};

Tensor atan2(Operand a, Operand b) { return binary(op_atan2, a, b); }

}  // namespace espalier
