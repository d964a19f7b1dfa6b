#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_one_minus_square(const Tensor& x) { return (1 - x) * (1 + x); }
std::vector<Tensor> decompose_one_minus_square(const DecomposeContext& c) {
  return {widened(formula_one_minus_square, c.in(0))};
}

struct OneMinusSquareApply {
  template <class T>
  static T apply(T x) {
    return (1 - x) * (1 + x);
  }
};

void gradient_one_minus_square(GradientContext& c) { c.set(0, c.cotangent() * c.in(0) * -2); }

}  // namespace

const OpDef op_one_minus_square = {
    .name = "one_minus_square",
    .doc =
        "1 - x^2 as (1 - x) (1 + x), exact near -1 and 1; its derivative is -2 x, without the difference of "
        "two numbers near 1 that the product rule makes of it. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<OneMinusSquareApply, kFloats>,
    .decompose = decompose_one_minus_square,
    .gradient = gradient_one_minus_square,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 3,
};

Tensor one_minus_square(const Tensor& x) { return emit(op_one_minus_square, nullptr, {x}); }

}  // namespace espalier
