#include "ops/composite/formula.h"
#include "ops/composite/gamma.h"

namespace espalier {
namespace {
// digamma(z) / (z - root) over z - 2, z in [1, 3], where root = 1.4616... is its zero.
constexpr double kDigammaNear[] = {
    0.85081410022745937,    -0.30691795316595704,    0.069600868562051771,   -0.017122972343451819,
    0.0043749618864243033,  -0.0011401796377915105,  0.00030046127392236792, -7.9691726616865223e-5,
    2.1218853925722326e-5,  -5.6631596935365923e-6,  1.5136717505341737e-6,  -4.0495026233355132e-7,
    1.0839799230643919e-7,  -2.9026750711369042e-8,  7.7745546979836426e-9,  -2.0826491956923770e-9,
    5.5795240847153214e-10, -1.4948718863979587e-10, 4.0052280733410352e-11, -1.0731515178725395e-11,
    2.8754217843517633e-12, -7.7045339260865717e-13, 2.0644004026236003e-13, -5.5315043465931801e-14,
    1.4821552853890040e-14, -3.9714113892843222e-15, 1.0641344625722717e-15, -2.8513362471718131e-16,
    7.6401265261314137e-17, -2.0471647168118759e-17};
// z^2 (log z - 1 / (2 z) - digamma(z)) over 18 / z^2 - 1, z >= 3.
constexpr double kDigammaFar[] = {0.082887207223219327,    -0.00044074791499411448, 5.2455767776115361e-6,
                                  -1.2742250304129564e-7,  4.9115646466489385e-9,   -2.6420133309888181e-10,
                                  1.8337965958534491e-11,  -1.5583788191072602e-12, 1.5622139887800644e-13,
                                  -1.7973515190578102e-14, 2.3242724896917352e-15,  -3.3238491759072857e-16,
                                  5.1889737408942648e-17,  -8.7511593993379450e-18};
// 2 - root, the first part exact in f32.
constexpr double kRootHigh = 0.5383678674697876, kRootLow = -1.2438149938918909e-08;

Tensor formula_digamma(const Tensor& x) {
  const GammaArgument a(x);
  const Tensor low = (a.offset + kRootHigh + kRootLow) * chebyshev(a.offset, kDigammaNear) -
                     select(a.below_one, 1 / guarded(a.below_one, a.z, 1), constant_like(x.type(), 0));
  const Tensor high = log(a.far) - 0.5 / a.far - chebyshev(a.far_argument(), kDigammaFar) / a.far / a.far;
  const Tensor value = select(a.near, low, high);
  const Tensor mirrored = value - kPi / tan(a.fraction * kPi);
  return select(a.pole, constant_like(x.type(), std::numeric_limits<double>::quiet_NaN()),
                select(a.reflected, mirrored, value));
}
std::vector<Tensor> decompose_digamma(const DecomposeContext& c) {
  return {widened(formula_digamma, c.in(0))};
}

void gradient_digamma(GradientContext& c) { c.set(0, c.cotangent() * widened(trigamma, c.in(0))); }

}  // namespace

const OpDef op_digamma = {
    .name = "digamma",
    .doc =
        "The derivative of lgamma; NaN at 0, -1, -2, ..., where its own derivative is infinite. Decomposes "
        "into Chebyshev series on [1, 3] and for "
        "the remainder of the asymptotic series, a recurrence below 1 and the reflection below 0, where its "
        "error is relative to max(1, |result|). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .decompose = decompose_digamma,
    .gradient = gradient_digamma,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 150,
};

Tensor digamma(Operand x) { return unary(op_digamma, x); }

}  // namespace espalier
