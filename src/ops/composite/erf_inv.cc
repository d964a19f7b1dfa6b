#include "ops/composite/erf.h"
#include "ops/composite/formula.h"

namespace espalier {
namespace {
// erf_inv(x) / x over s = sqrt(2 - log(1 - x^2)), from sqrt(2) at x = 0 to sqrt(40) beyond the largest x of
// f64.
constexpr double kErfInvSeries[] = {
    3.4227035424508757,      2.6146021412131264,      0.0062133008133356821,   -0.034064665817504076,
    0.025343573781861312,    -0.011812419803111874,   0.0029197559391836048,   0.00066007582597115661,
    -0.0011109770634786750,  0.00055215851507962476,  -7.4095104465290966e-5,  -9.0940623084131447e-5,
    7.3339855604664200e-5,   -2.1109278094767725e-5,  -5.6934777984585402e-6,  8.4625712001542582e-6,
    -3.4626930507416054e-6,  -7.6104412168451166e-8,  8.7354668479711947e-7,   -4.7324243867556703e-7,
    5.8407405418652948e-8,   7.9054332300535872e-8,   -5.8132473522980999e-8,  1.4076056097778313e-8,
    5.7464741415620766e-9,   -6.5609634861977641e-9,  2.3610422819908990e-9,   2.1016092272882909e-10,
    -6.7917591618957898e-10, 3.3734525596756563e-10,  -3.0856060419413278e-11, -6.2891608211877279e-11,
    4.3346683918482503e-11,  -9.7333255315823758e-12, -4.8263488407115672e-12, 5.0976004995091461e-12,
    -1.7568988391379280e-12, -2.2015015392919794e-13, 5.4835881975091376e-13,  -2.6070196497718518e-13,
    1.7182595275225265e-14,  5.2919092492038426e-14,  -3.4414307989662428e-14, 6.9473803788583679e-15,
    4.3156154841799179e-15,  -4.1452068903555777e-15, 1.3329372292299589e-15,  2.3654383018885375e-16,
    -4.5719059469596628e-16, 2.0485333006550708e-16};
constexpr double kFirst = 1.4142135623730951, kLast = 6.324555320336759;
constexpr double kScale = 2 / (kLast - kFirst), kShift = (kLast + kFirst) / (kLast - kFirst);

Tensor formula_erf_inv(const Tensor& x) {
  const Tensor w = -log((1 - x) * (1 + x)), edge = is_equal(abs(x), 1);
  const Tensor t = sqrt(guarded(bitwise_not(edge), w, 0) + 2) * kScale - kShift;
  return select(edge, sign(x) * std::numeric_limits<double>::infinity(), x * chebyshev(t, kErfInvSeries));
}
std::vector<Tensor> decompose_erf_inv(const DecomposeContext& c) {
  return {widened(formula_erf_inv, c.in(0))};
}

void gradient_erf_inv(GradientContext& c) {
  c.set(0, c.cotangent() * exponential(c.out(0) * c.out(0)) / kTwoOverRootPi);
}

}  // namespace

const OpDef op_erf_inv = {
    .name = "erf_inv",
    .doc =
        "The inverse of erf; infinite at -1 and 1, NaN beyond. Decomposes into x times a Chebyshev series in "
        "sqrt(2 - log(1 - x^2)). c1: floating-point elements.",
    .composite = true,
    .infer = infer_unary<kFloats>,
    .decompose = decompose_erf_inv,
    .gradient = gradient_erf_inv,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 110,
};

Tensor erf_inv(Operand x) { return unary(op_erf_inv, x); }

}  // namespace espalier
