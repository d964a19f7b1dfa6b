#include "ops/composite/erf.h"

#include "ops/composite/formula.h"

namespace espalier {
namespace {
// erf(x) / x over 2 x^2 - 1, |x| < 1.
constexpr double kErfSeries[] = {0.97547693938265410,     -0.14226120510371364,   0.010035582187599796,
                                 -0.00057687646997674848, 2.7419931252196061e-5,  -1.1043175507344508e-6,
                                 3.8488755420345037e-8,   -1.1808582533875467e-9, 3.2334215826050910e-11,
                                 -7.9910159470045488e-13, 1.7990725113961456e-14, -3.7186354878186926e-16};

Tensor formula_erf(const Tensor& x) {
  const Tensor magnitude = abs(x), small = is_less(magnitude, 1);
  const Tensor m = guarded(small, x, 0);
  return select(small, m * chebyshev(m * m * 2 - 1, kErfSeries), sign(x) * (1 - erfc_of_positive(magnitude)));
}
std::vector<Tensor> decompose_erf(const DecomposeContext& c) { return {widened(formula_erf, c.in(0))}; }

struct ErfApply {
  template <class T>
  static T apply(T x) {
    return std::erf(x);
  }
};

void gradient_erf(GradientContext& c) {
  c.set(0, c.cotangent() * exponential(-(c.in(0) * c.in(0))) * kTwoOverRootPi);
}

}  // namespace

const OpDef op_erf = {
    .name = "erf",
    .doc =
        "The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x. Decomposes into x "
        "times a Chebyshev series in x^2 below 1, into 1 - erfc(x) above. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<ErfApply, kFloats>,
    .decompose = decompose_erf,
    .gradient = gradient_erf,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 60,
};

Tensor erf(Operand x) { return unary(op_erf, x); }

}  // namespace espalier
