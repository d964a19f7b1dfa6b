#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula(const Tensor& x) {
  const Tensor root = exponential(abs(x) * 0.5);
  return root * 0.5 * root + 0.5 / root / root;
}
std::vector<Tensor> decompose(const DecomposeContext& c) { return {widened(formula, c.in(0))}; }

struct Apply {
  template <class T>
  static T apply(T x) {
    return std::cosh(x);
  }
};

void gradient(GradientContext& c) { c.set(0, c.cotangent() * sinh(c.in(0))); }

}  // namespace

const OpDef op_cosh = {
    .name = "cosh",
    .doc =
        "(exp(x) + exp(-x)) / 2. Decomposes over exp(|x| / 2), which overflows only where the result does. "
        "c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Apply, kFloats>,
    .decompose = decompose,
    .gradient = gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kDeny,
    .flops_per_output = 20,
};

Tensor cosh(Operand x) { return unary(op_cosh, x); }

}  // namespace espalier
