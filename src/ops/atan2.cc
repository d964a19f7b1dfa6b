#include "ops/composite/power_of_two.h"

namespace espalier {
namespace {

struct Atan2Apply {
  template <class T>
  static T apply(T a, T b) {
    return std::atan2(a, b);
  }
};

// (b, -a) / (a^2 + b^2), over a and b that are scaled first: squares of what is large or small leave the
// range.
std::vector<Tensor> slopes_atan2(const Tensor& a, const Tensor& b) {
  const Tensor scale = power_of_two_near(maximum(abs(a), abs(b)));
  const Tensor y = a / scale, x = b / scale, squares = y * y + x * x;
  return {x / squares / scale, -(y / squares / scale)};
}

void gradient_atan2(GradientContext& c) {
  const DType dtype = c.in(0).dtype();
  const DType wide = size_of(dtype) == 2 ? DType::kF32 : dtype;
  const std::vector<Tensor> slopes = slopes_atan2(convert(c.in(0), wide), convert(c.in(1), wide));
  for (size_t i = 0; i < 2; ++i) {
    if (c.wants(i)) c.set(i, c.cotangent() * convert(slopes[i], dtype));
  }
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
    .flops_per_output = 25,
};

Tensor atan2(Operand a, Operand b) { return binary(op_atan2, a, b); }

}  // namespace espalier
