#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula_softplus(const Tensor& x) { return maximum(x, 0) + log_plus_one(exponential(-abs(x))); }
std::vector<Tensor> decompose_softplus(const DecomposeContext& c) {
  return {widened(formula_softplus, c.in(0))};
}

struct SoftplusApply {
  template <class T>
  static T apply(T x) {
    return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
  }
};

void gradient_softplus(GradientContext& c) { c.set(0, c.cotangent() * logistic(c.in(0))); }

}  // namespace

const OpDef op_softplus = {
    .name = "softplus",
    .doc = "log(1 + exp(x)). Decomposes into max(x, 0) + log1p(exp(-|x|)). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SoftplusApply, kFloats>,
    .decompose = decompose_softplus,
    .gradient = gradient_softplus,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor softplus(Operand x) { return unary(op_softplus, x); }

}  // namespace espalier
