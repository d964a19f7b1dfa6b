#include "base/elementary.h"
#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_tanh_slope(const Tensor& x) {
  const Tensor e = exponential(abs(x) * -2), sum = e + 1;
  return e * 4 / (sum * sum);
}
std::vector<Tensor> decompose_tanh_slope(const DecomposeContext& c) {
  return {widened(formula_tanh_slope, c.in(0))};
}

struct TanhSlopeApply {
  template <class T>
  static T apply(T x) {
    return elementary_tanh_slope(x);
  }
};

void gradient_tanh_slope(GradientContext& c) { c.set(0, c.cotangent() * c.out(0) * tanh(c.in(0)) * -2); }

}  // namespace

const OpDef op_tanh_slope = {
    .name = "tanh_slope",
    .doc =
        "1 / cosh(x)^2, the derivative of tanh, as 4 e / (1 + e)^2 with e = exp(-2 |x|): small where tanh "
        "rounds to 1, and not zero. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<TanhSlopeApply, kFloats>,
    .decompose = decompose_tanh_slope,
    .gradient = gradient_tanh_slope,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 14,
};

Tensor tanh_slope(const Tensor& x) { return emit(op_tanh_slope, nullptr, {x}); }

}  // namespace espalier
