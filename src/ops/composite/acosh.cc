#include "ops/composite/formula.h"

namespace espalier {
namespace {
constexpr double kLarge = 1e8;  // its square is beyond the precision of f64, and still finite in f32

Tensor formula(const Tensor& x) {
  const Tensor large = compare(x, kLarge, Comparison::kGT);
  const Tensor t = guarded(bitwise_not(large), x, 2) - 1;
  const Tensor near = log_plus_one(t + sqrt(t) * sqrt(t + 2));
  return select(large, log(x) + std::log(2.0), near);
}
std::vector<Tensor> decompose(const DecomposeContext& c) { return {widened(formula, c.in(0))}; }

struct Apply {
  template <class T>
  static T apply(T x) {
    return std::acosh(x);
  }
};

void gradient(GradientContext& c) { c.set(0, c.cotangent() * rsqrt(c.in(0) - 1) * rsqrt(c.in(0) + 1)); }

}  // namespace

const OpDef op_acosh = {
    .name = "acosh",
    .doc =
        "The inverse of cosh; NaN below 1. With t = x - 1 it decomposes into log1p(t + sqrt(t) sqrt(t + 2)), "
        "beyond 1e8 into log x + log 2. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<Apply, kFloats>,
    .decompose = decompose,
    .gradient = gradient,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .color = Color::kDeny,
    .flops_per_output = 25,
};

Tensor acosh(Operand x) { return unary(op_acosh, x); }

}  // namespace espalier
