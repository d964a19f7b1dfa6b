#include "ops/composite/formula.h"

namespace espalier {
namespace {
constexpr double kSinhLarge = 22;  // exp(-2 x) is below the rounding of f64

Tensor formula_sinh(const Tensor& x) {
  const Tensor magnitude = abs(x), small = is_less(magnitude, kSinhLarge);
  const Tensor e = exponential_minus_one(guarded(small, magnitude, 1)), root = exponential(magnitude * 0.5);
  return sign(x) * select(small, (e + e / (e + 1)) * 0.5, root * 0.5 * root);
}
std::vector<Tensor> decompose_sinh(const DecomposeContext& c) { return {widened(formula_sinh, c.in(0))}; }

struct SinhApply {
  template <class T>
  static T apply(T x) {
    return std::sinh(x);
  }
};

void gradient_sinh(GradientContext& c) { c.set(0, c.cotangent() * cosh(c.in(0))); }

}  // namespace

const OpDef op_sinh = {
    .name = "sinh",
    .doc =
        "(exp(x) - exp(-x)) / 2. Decomposes over e = expm1(|x|) into sign(x) (e + e / (e + 1)) / 2, beyond "
        "22 over exp(|x| / 2). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<SinhApply, kFloats>,
    .decompose = decompose_sinh,
    .gradient = gradient_sinh,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 20,
};

Tensor sinh(Operand x) { return unary(op_sinh, x); }

}  // namespace espalier
