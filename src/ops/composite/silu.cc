#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_silu(const Tensor& x) { return x * logistic(x); }
std::vector<Tensor> decompose_silu(const DecomposeContext& c) { return {widened(formula_silu, c.in(0))}; }

struct SiluApply {
  template <class T>
  static T apply(T x) {
    return x / (1 + std::exp(-x));
  }
};

void gradient_silu(GradientContext& c) {
  c.set(0, c.cotangent() * (logistic(c.in(0)) + c.in(0) * logistic_slope(c.in(0))));
}

}  // namespace

const OpDef op_silu = {
    .name = "silu",
    .doc = "x times logistic(x), also called swish. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SiluApply, kFloats>,
    .decompose = decompose_silu,
    .gradient = gradient_silu,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 14,
};

Tensor silu(Operand x) { return unary(op_silu, x); }

}  // namespace espalier
