#include "ops/composite/formula.h"

namespace espalier {
namespace {
// bessel_i1e(x) / x over x / 4 - 1, x in [0, 8].
constexpr double kBesselI1eNear[] = {
    0.12629359322181683,    -0.17641651835783406,    0.10264365868984710,    -0.052945981208094991,
    0.024726449030626517,   -0.010564084894626198,   0.0041564229443128882,  -0.0015135724506312531,
    0.00051228595616857577, -0.00016176081582589675, 4.7815651075500542e-5,  -1.3273163656039436e-5,
    3.4702513081376785e-6,  -8.5687202646954547e-7,  2.0032947535521353e-7,  -4.4450591287963281e-8,
    9.3815373864957718e-9,  -1.8872497517228293e-9,  3.6255902815521170e-10, -6.6634897235020277e-11,
    1.1736186298890902e-11, -1.9839743977649437e-12, 3.2237933659455747e-13, -5.0421855047279117e-14,
    7.6006842947354069e-15, -1.1055969477353863e-15, 1.5536319577362005e-16, -2.1114212143581661e-17};
// sqrt(x) bessel_i1e(x) over 16 / x - 1, x >= 8.
constexpr double kBesselI1eFar[] = {
    0.38928811750914006,     -0.0097610974913614684,  -0.00011058893876262372, -3.8825648088776904e-6,
    -2.5122362378702089e-7,  -2.6314688468895195e-8,  -3.8353803859642370e-9,  -5.5897434621965838e-10,
    -1.8974958123505412e-11, 3.2526035830154882e-11,  1.4125807436613781e-11,  2.0356285441470895e-12,
    -7.1985517762459085e-13, -4.0835511110921973e-13, -2.1015418427726643e-14, 4.2724400167119514e-14,
    1.0420276984128803e-14,  -3.8144030724370078e-15, -1.8803547755107824e-15, 3.3082023109209283e-16,
    2.9626289976459501e-16,  -3.2095259219934240e-17, -4.6503053684893583e-17};

Tensor formula_bessel_i1e(const Tensor& x) {
  const Tensor magnitude = abs(x), near = compare(magnitude, 8, Comparison::kLE);
  const Tensor low = guarded(near, x, 1), high = guarded(bitwise_not(near), magnitude, 8);
  return select(near, low * chebyshev(abs(low) * 0.25 - 1, kBesselI1eNear),
                sign(x) * chebyshev(16 / high - 1, kBesselI1eFar) * rsqrt(high));
}
std::vector<Tensor> decompose_bessel_i1e(const DecomposeContext& c) {
  return {widened(formula_bessel_i1e, c.in(0))};
}

}  // namespace

const OpDef op_bessel_i1e = {
    .name = "bessel_i1e",
    .doc =
        "exp(-|x|) I1(x), the scaled modified Bessel function of order one. Decomposes into Chebyshev series "
        "below and above |x| = 8. c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .decompose = decompose_bessel_i1e,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 90,
};

Tensor bessel_i1e(Operand x) { return unary(op_bessel_i1e, x); }

}  // namespace espalier
