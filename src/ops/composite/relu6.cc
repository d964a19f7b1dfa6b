#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula_relu6(const Tensor& x) { return clamp(0, x, 6); }
std::vector<Tensor> decompose_relu6(const DecomposeContext& c) { return {widened(formula_relu6, c.in(0))}; }

struct Relu6Apply {
  template <class T>
  static T apply(T x) {
    return x <= 0 ? T(0) : x >= 6 ? T(6) : x;
  }
};

void gradient_relu6(GradientContext& c) {
  const Tensor inside = bitwise_and(compare(c.in(0), 0, Comparison::kGT), is_less(c.in(0), 6));
  c.set(0, select(inside, c.cotangent(), constant_like(c.in(0).type(), 0)));
}

}  // namespace

const OpDef op_relu6 = {
    .name = "relu6",
    .doc = "x held to [0, 6]; NaN stays. The gradient at 0 and 6 is 0. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Relu6Apply, kFloats>,
    .decompose = decompose_relu6,
    .gradient = gradient_relu6,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 2,
};

Tensor relu6(Operand x) { return unary(op_relu6, x); }

}  // namespace espalier
