#include "ops/composite/slopes.h"

namespace espalier {
namespace {
constexpr double kAsinhLarge = 1e8;  // its square is beyond the precision of f64, and still finite in f32

Tensor formula_asinh(const Tensor& x) {
  const Tensor magnitude = abs(x), large = compare(magnitude, kAsinhLarge, Comparison::kGT);
  const Tensor m = guarded(bitwise_not(large), magnitude, 1), squared = m * m;
  const Tensor near = log_plus_one(m + squared / (1 + sqrt(1 + squared)));
  return sign(x) * select(large, log(magnitude) + std::log(2.0), near);
}
std::vector<Tensor> decompose_asinh(const DecomposeContext& c) { return {widened(formula_asinh, c.in(0))}; }

struct AsinhApply {
  template <class T>
  static T apply(T x) {
    return std::asinh(x);
  }
};

// 1 / sqrt(1 + x^2), where x^2 may overflow.
void gradient_asinh(GradientContext& c) {
  c.set(0, c.cotangent() * near_or_far(
                               c.in(0), [](const Tensor& x) { return rsqrt(1 + x * x); },
                               [](const Tensor& x) { return 1 / abs(x); }));
}

}  // namespace

const OpDef op_asinh = {
    .name = "asinh",
    .doc =
        "The inverse of sinh. Decomposes into sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), beyond 1e8 "
        "into log |x| + log 2. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<AsinhApply, kFloats>,
    .decompose = decompose_asinh,
    .gradient = gradient_asinh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor asinh(Operand x) { return unary(op_asinh, x); }

}  // namespace espalier
