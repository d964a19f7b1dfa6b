#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_asin(const Tensor& x) { return atan2(x, sqrt((1 - x) * (1 + x))); }
std::vector<Tensor> decompose_asin(const DecomposeContext& c) { return {widened(formula_asin, c.in(0))}; }

struct AsinApply {
  template <class T>
  static T apply(T x) {
    return std::asin(x);
  }
};

void gradient_asin(GradientContext& c) { c.set(0, c.cotangent() * rsqrt(one_minus_square(c.in(0)))); }

}  // namespace

const OpDef op_asin = {
    .name = "asin",
    .doc =
        "The angle in [-pi/2, pi/2] whose sine is x; NaN outside of [-1, 1]. Decomposes into atan2(x, "
        "sqrt((1 - x) (1 + x))). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AsinApply, kFloats>,
    .decompose = decompose_asin,
    .gradient = gradient_asin,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor asin(Operand x) { return unary(op_asin, x); }

}  // namespace espalier
