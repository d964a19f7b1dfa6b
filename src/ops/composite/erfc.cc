#include "ops/composite/erf.h"
#include "ops/composite/formula.h"

namespace espalier {
namespace {

Tensor formula_erfc(const Tensor& x) {
  const Tensor e = erfc_of_positive(abs(x));
  return select(is_less(x, 0), 2 - e, e);
}
std::vector<Tensor> decompose_erfc(const DecomposeContext& c) { return {widened(formula_erfc, c.in(0))}; }

struct ErfcApply {
  template <class T>
  static T apply(T x) {
    return std::erfc(x);
  }
};

void gradient_erfc(GradientContext& c) {
  c.set(0, c.cotangent() * exponential(-(c.in(0) * c.in(0))) * -kTwoOverRootPi);
}

}  // namespace

const OpDef op_erfc = {
    .name = "erfc",
    .doc =
        "The complementary error function 1 - erf(x), exact where it is small. Decomposes over a Chebyshev "
        "series of exp(x^2) erfc(x). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<ErfcApply, kFloats>,
    .decompose = decompose_erfc,
    .gradient = gradient_erfc,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 60,
};

Tensor erfc(Operand x) { return unary(op_erfc, x); }

}  // namespace espalier
