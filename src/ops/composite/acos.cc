#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_acos(const Tensor& x) { return atan2(sqrt((1 - x) * (1 + x)), x); }
std::vector<Tensor> decompose_acos(const DecomposeContext& c) { return {widened(formula_acos, c.in(0))}; }

struct AcosApply {
  template <class T>
  static T apply(T x) {
    return std::acos(x);
  }
};

void gradient_acos(GradientContext& c) { c.set(0, -(c.cotangent() * rsqrt(one_minus_square(c.in(0))))); }

}  // namespace

const OpDef op_acos = {
    .name = "acos",
    .doc =
        "The angle in [0, pi] whose cosine is x; NaN outside of [-1, 1]. Decomposes into atan2(sqrt((1 - x) "
        "(1 + x)), x). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AcosApply, kFloats>,
    .decompose = decompose_acos,
    .gradient = gradient_acos,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor acos(Operand x) { return unary(op_acos, x); }

}  // namespace espalier
