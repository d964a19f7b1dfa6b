#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_atanh(const Tensor& x) { return (log_plus_one(x) - log_plus_one(-x)) * 0.5; }
std::vector<Tensor> decompose_atanh(const DecomposeContext& c) { return {widened(formula_atanh, c.in(0))}; }

struct AtanhApply {
  template <class T>
  static T apply(T x) {
    return std::atanh(x);
  }
};

void gradient_atanh(GradientContext& c) { c.set(0, c.cotangent() / one_minus_square(c.in(0))); }

}  // namespace

const OpDef op_atanh = {
    .name = "atanh",
    .doc =
        "The inverse of tanh; NaN outside of [-1, 1]. Decomposes into (log1p(x) - log1p(-x)) / 2. c1: "
        "floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AtanhApply, kFloats>,
    .decompose = decompose_atanh,
    .gradient = gradient_atanh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor atanh(Operand x) { return unary(op_atanh, x); }

}  // namespace espalier
