#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula_cosh(const Tensor& x) {
  const Tensor root = exponential(abs(x) * 0.5);
  return root * 0.5 * root + 0.5 / root / root;
}
std::vector<Tensor> decompose_cosh(const DecomposeContext& c) { return {widened(formula_cosh, c.in(0))}; }

struct CoshApply {
  template <class T>
  static T apply(T x) {
    return std::cosh(x);
  }
};

void gradient_cosh(GradientContext& c) { c.set(0, c.cotangent() * sinh(c.in(0))); }

}  // namespace

const OpDef op_cosh = {
    .name = "cosh",
    .doc =
        "(exp(x) + exp(-x)) / 2. Decomposes over exp(|x| / 2), which overflows only where the result does. "
        "c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<CoshApply, kFloats>,
    .decompose = decompose_cosh,
    .gradient = gradient_cosh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 20,
};

Tensor cosh(Operand x) { return unary(op_cosh, x); }

}  // namespace espalier
