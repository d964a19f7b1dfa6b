#include "ops/composite/formula.h"
#include "ops/registry.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_relu_gradient(const DecomposeContext& c) {
  return {select(compare(c.in(0), 0, Comparison::kGT), c.in(1), constant_like(c.in(1).type(), 0))};
}

struct ReluGradientApply {
  template <class T>
  static T apply(T result, T cotangent) {
    return result > 0 ? cotangent : T(0);
  }
};

void gradient_relu_gradient(GradientContext& c) {
  if (c.wants(1)) c.set(1, emit(op_relu_gradient, nullptr, {c.in(0), c.cotangent()}));
}

}  // namespace

const OpDef op_relu_gradient = {
    .name = "relu_gradient",
    .doc =
        "The second operand, a cotangent, where the first, the result of relu, is above 0; else 0. c1: "
        "floating-point elements. c2: operands of one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .eval = eval_binary<ReluGradientApply, kFloats>,
    .decompose = decompose_relu_gradient,
    .gradient = gradient_relu_gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

}  // namespace espalier
