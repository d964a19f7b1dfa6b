#include "ops/composite/formula.h"

namespace espalier {
namespace {
constexpr double kAcoshLarge = 1e8;  // its square is beyond the precision of f64, and still finite in f32

Tensor formula_acosh(const Tensor& x) {
  const Tensor large = compare(x, kAcoshLarge, Comparison::kGT);
  const Tensor t = guarded(bitwise_not(large), x, 2) - 1;
  const Tensor near = log_plus_one(t + sqrt(t) * sqrt(t + 2));
  return select(large, log(x) + std::log(2.0), near);
}
std::vector<Tensor> decompose_acosh(const DecomposeContext& c) { return {widened(formula_acosh, c.in(0))}; }

struct AcoshApply {
  template <class T>
  static T apply(T x) {
    return std::acosh(x);
  }
};

void gradient_acosh(GradientContext& c) { c.set(0, c.cotangent() * rsqrt(c.in(0) - 1) * rsqrt(c.in(0) + 1)); }

}  // namespace

const OpDef op_acosh = {
    .name = "acosh",
    .doc =
        "The inverse of cosh; NaN below 1. With t = x - 1 it decomposes into log1p(t + sqrt(t) sqrt(t + 2)), "
        "beyond 1e8 into log x + log 2. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AcoshApply, kFloats>,
    .decompose = decompose_acosh,
    .gradient = gradient_acosh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor acosh(Operand x) { return unary(op_acosh, x); }

}  // namespace espalier
