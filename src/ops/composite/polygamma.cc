#include "ops/composite/gamma.h"

namespace espalier {
namespace {

Tensor formula_polygamma(const Tensor& n, const Tensor& x) {
  const Tensor zero = is_equal(n, 0);
  const Tensor order = guarded(bitwise_not(zero), floor(n), 1);
  const Tensor sign = 4 * (order * 0.5 - floor(order * 0.5)) - 1;
  const Tensor value = sign * exponential(lgamma(order + 1)) * zeta(order + 1, x);
  const Tensor natural = bitwise_and(compare(n, floor(n), Comparison::kEQ), compare(n, 0, Comparison::kGE));
  return select(natural, select(zero, digamma(x), value),
                constant_like(x.type(), std::numeric_limits<double>::quiet_NaN()));
}

std::vector<Tensor> decompose_polygamma(const DecomposeContext& c) {
  return {widened(formula_polygamma, c.in(0), c.in(1))};
}

// polygamma(n + 1, x); at n = 0, which is digamma, also below 0.
void gradient_polygamma(GradientContext& c) {
  if (!c.wants(1)) return;
  const Tensor slope = widened(
      [](const Tensor& n, const Tensor& x) {
        const Tensor zero = is_equal(n, 0), other = bitwise_not(zero);
        return select(zero, trigamma(guarded(zero, x, 1)),
                      polygamma(guarded(other, n, 1) + 1, guarded(other, x, 1)));
      },
      c.in(0), c.in(1));
  c.set(1, c.cotangent() * slope);
}

}  // namespace

const OpDef op_polygamma = {
    .name = "polygamma",
    .doc =
        "The n-th derivative of digamma. NaN unless n is 0, 1, 2, ...; for n > 0 x must not be negative. "
        "Decomposes into (-1)^(n+1) n! zeta(n + 1, x). The gradient with respect to n is 0. c1: "
        "floating-point "
        "elements. c2: operands have one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .decompose = decompose_polygamma,
    .gradient = gradient_polygamma,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 900,
};

Tensor polygamma(Operand n, Operand x) { return binary(op_polygamma, n, x); }

}  // namespace espalier
