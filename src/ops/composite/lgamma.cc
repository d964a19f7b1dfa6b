#include "ops/composite/formula.h"
#include "ops/composite/gamma.h"

namespace espalier {
namespace {
// lgamma(z) / ((z - 1) (z - 2)) over z - 2, z in [1, 3].
constexpr double kLgammaNear[] = {
    0.44148902545501421,    -0.11119580321752522,    0.019510448260688841,   -0.0039224614630252640,
    0.00084789898959538574, -0.00019153855341365592, 4.4544701849756064e-5,  -1.0572874373594300e-5,
    2.5474336873408415e-6,  -6.2085358807763160e-7,  1.5268677399071547e-7,  -3.7826376602913261e-8,
    9.4281008236242844e-9,  -2.3619997021846449e-9,  5.9435419058175461e-10, -1.5013129770728669e-10,
    3.8050196458110537e-11, -9.6724852996563246e-12, 2.4653481983556609e-12, -6.2988681407917115e-13,
    1.6128460030283786e-13, -4.1379492068140421e-14, 1.0635701227757898e-14, -2.7382420786652825e-15,
    7.0606705072148925e-16, -1.8232177141662119e-16, 4.7141690067562716e-17, -1.2204107319639855e-17};
// z (lgamma(z) minus Stirling's formula) over 18 / z^2 - 1, z >= 3.
constexpr double kLgammaFar[] = {0.083182460482919855,    -0.00014975860440694073, 1.0941071496987224e-6,
                                 -1.9507293568156071e-8,  6.0242675559256024e-10,  -2.7341646731691317e-11,
                                 1.6562559082898347e-12,  -1.2576784847123842e-13, 1.1461167272220638e-14,
                                 -1.2144076211274292e-15, 1.4610300637638517e-16,  -1.9595510791505943e-17,
                                 2.8879170958680643e-18};

Tensor formula_lgamma(const Tensor& x) {
  const GammaArgument a(x);
  const Tensor low =
      a.offset * (a.offset + 1) * chebyshev(a.offset, kLgammaNear) - log(guarded(a.below_one, a.z, 1));
  const Tensor high =
      (a.far - 0.5) * (log(a.far) - 1) + 0.4189385332046727 + chebyshev(a.far_argument(), kLgammaFar) / a.far;
  const Tensor value = select(a.near, low, high);
  const Tensor mirrored = log(kPi / abs(sine(a.fraction * kPi))) - value;
  return select(a.pole, constant_like(x.type(), std::numeric_limits<double>::infinity()),
                select(a.reflected, mirrored, value));
}
std::vector<Tensor> decompose_lgamma(const DecomposeContext& c) { return {widened(formula_lgamma, c.in(0))}; }

struct LgammaApply {
  template <class T>
  static T apply(T x) {
    int sign = 0;
    if constexpr (std::is_same_v<T, float>) {
      return lgammaf_r(x, &sign);
    } else {
      return lgamma_r(x, &sign);
    }
  }
};

void gradient_lgamma(GradientContext& c) { c.set(0, c.cotangent() * digamma(c.in(0))); }

}  // namespace

const OpDef op_lgamma = {
    .name = "lgamma",
    .doc =
        "log |gamma(x)|; infinite at 0, -1, -2, .... Decomposes into Chebyshev series on [1, 3] and for the "
        "remainder of Stirling's formula, a recurrence below 1 and the reflection below 0, where its error "
        "is relative to max(1, |result|). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .eval = eval_unary<LgammaApply, kFloats>,
    .decompose = decompose_lgamma,
    .gradient = gradient_lgamma,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 150,
};

Tensor lgamma(Operand x) { return unary(op_lgamma, x); }

}  // namespace espalier
