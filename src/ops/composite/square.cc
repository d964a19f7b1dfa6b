#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula_square(const Tensor& x) { return x * x; }
std::vector<Tensor> decompose_square(const DecomposeContext& c) { return {widened(formula_square, c.in(0))}; }

struct SquareApply {
  template <class T>
  static T apply(T x) {
    return x * x;
  }
};

void gradient_square(GradientContext& c) { c.set(0, c.cotangent() * c.in(0) * 2); }

}  // namespace

const OpDef op_square = {
    .name = "square",
    .doc = "x * x. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SquareApply, kFloats>,
    .decompose = decompose_square,
    .gradient = gradient_square,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor square(Operand x) { return unary(op_square, x); }

}  // namespace espalier
