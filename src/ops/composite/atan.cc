#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_atan(const Tensor& x) { return atan2(x, constant_like(x.type(), 1)); }
std::vector<Tensor> decompose_atan(const DecomposeContext& c) { return {widened(formula_atan, c.in(0))}; }

struct AtanApply {
  template <class T>
  static T apply(T x) {
    return std::atan(x);
  }
};

// 1 / (1 + x^2), whose own derivatives divide by powers of x that overflow.
void gradient_atan(GradientContext& c) {
  c.set(0, c.cotangent() * near_or_far(
                               c.in(0), [](const Tensor& x) { return 1 / (1 + x * x); },
                               [](const Tensor& x) { return 1 / x / x; }));
}

}  // namespace

const OpDef op_atan = {
    .name = "atan",
    .doc = "The angle in [-pi/2, pi/2] whose tangent is x. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AtanApply, kFloats>,
    .decompose = decompose_atan,
    .gradient = gradient_atan,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 20,
};

Tensor atan(Operand x) { return unary(op_atan, x); }

}  // namespace espalier
