#include "ops/composite/formula.h"
#include "ops/registry.h"

namespace espalier {
namespace {

Tensor formula_relu(const Tensor& x) { return maximum(x, 0); }
std::vector<Tensor> decompose_relu(const DecomposeContext& c) { return {widened(formula_relu, c.in(0))}; }

struct ReluApply {
  template <class T>
  static T apply(T x) {
    return x <= 0 ? T(0) : x;
  }
};

void gradient_relu(GradientContext& c) {
  c.set(0, emit(op_relu_gradient, nullptr, {c.out(0), c.cotangent()}));
}

}  // namespace

const OpDef op_relu = {
    .name = "relu",
    .doc = "The larger of x and 0; NaN stays. The gradient at 0 is 0. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<ReluApply, kFloats>,
    .decompose = decompose_relu,
    .gradient = gradient_relu,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor relu(Operand x) { return unary(op_relu, x); }

}  // namespace espalier
