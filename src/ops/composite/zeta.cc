#include "ops/composite/formula.h"

namespace espalier {
namespace {

// B_2j / (2j)!, B_k the Bernoulli numbers.
constexpr double kBernoulli[] = {0.083333333333333333,   -0.0013888888888888889,  3.3068783068783069e-5,
                                 -8.2671957671957672e-7, 2.0876756987868099e-8,   -5.2841901386874932e-10,
                                 1.3382536530684679e-11, -3.3896802963225829e-13, 8.5860620562778446e-15,
                                 -2.1748686985580619e-16};
constexpr int kTerms = 10;

// Euler and Maclaurin's formula: kTerms terms, then the integral of the rest and its corrections.
Tensor formula_zeta(const Tensor& s, const Tensor& q) {
  const auto all = [&](double value) { return constant_like(s.type(), value); };
  Tensor sum = power(q, -s);
  for (int k = 1; k < kTerms; ++k) sum = sum + power(q + k, -s);
  const Tensor a = q + kTerms, last = power(a, -s);
  Tensor factor = s / a, rest = a / (s - 1) + 0.5;
  for (size_t j = 0; j < std::size(kBernoulli); ++j) {
    rest = rest + factor * kBernoulli[j];
    const double k = 2 * static_cast<double>(j) + 1;
    factor = factor * ((s + k) / a) * ((s + (k + 1)) / a);
  }
  // Where the last term underflows the factor may overflow.
  const Tensor value = sum + select(is_equal(last, 0), all(0), last * rest);
  const Tensor outside = bitwise_or(is_less(s, 1), is_less(q, 0));
  const Tensor pole = bitwise_and(is_equal(s, 1), bitwise_not(is_less(q, 0)));
  return select(pole, all(std::numeric_limits<double>::infinity()),
                select(outside, all(std::numeric_limits<double>::quiet_NaN()), value));
}

std::vector<Tensor> decompose_zeta(const DecomposeContext& c) {
  return {widened(formula_zeta, c.in(0), c.in(1))};
}

// The derivative of the formula for s, term by term: -inf at the pole s = 1, NaN where zeta is.
Tensor slope_for_s(const Tensor& s, const Tensor& q) {
  const auto all = [&](double value) { return constant_like(s.type(), value); };
  const auto times_log = [&](const Tensor& base) {
    const Tensor term = power(base, -s);
    return select(is_equal(term, 0), all(0), term * log(base));
  };
  Tensor sum = times_log(q);
  for (int k = 1; k < kTerms; ++k) sum = sum + times_log(q + k);
  const Tensor a = q + kTerms, last = power(a, -s), before = s - 1;
  Tensor factor = s / a, factor_slope = 1 / a;
  Tensor rest = a / before + 0.5, rest_slope = -(a / before / before);
  for (size_t j = 0; j < std::size(kBernoulli); ++j) {
    rest = rest + factor * kBernoulli[j];
    rest_slope = rest_slope + factor_slope * kBernoulli[j];
    const double k = 2 * static_cast<double>(j) + 1;
    const Tensor step = (s + k) / a * ((s + (k + 1)) / a), step_slope = (s * 2 + (2 * k + 1)) / a / a;
    factor_slope = factor_slope * step + factor * step_slope;
    factor = factor * step;
  }
  const Tensor tail = select(is_equal(last, 0), all(0), last * (rest_slope - log(a) * rest));
  const Tensor outside = bitwise_or(is_less(s, 1), is_less(q, 0));
  return select(outside, all(std::numeric_limits<double>::quiet_NaN()), tail - sum);
}

// For q it is -s zeta(s + 1, q).
Tensor slope_for_q(const Tensor& s, const Tensor& q) {
  const Tensor nan = constant_like(s.type(), std::numeric_limits<double>::quiet_NaN());
  return select(is_less(s, 1), nan, -(s * zeta(s + 1, q)));
}

void gradient_zeta(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.cotangent() * widened(slope_for_s, c.in(0), c.in(1)));
  if (c.wants(1)) c.set(1, c.cotangent() * widened(slope_for_q, c.in(0), c.in(1)));
}

}  // namespace

const OpDef op_zeta = {
    .name = "zeta",
    .doc =
        "Hurwitz' zeta function: the sum of (q + k)^-s over k = 0, 1, .... Infinite at s = 1 and q = 0, NaN "
        "for s < 1 and for q < 0. Decomposes into Euler and Maclaurin's formula. c1: floating-point "
        "elements. c2: operands have one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .decompose = decompose_zeta,
    .gradient = gradient_zeta,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 500,
};

Tensor zeta(Operand s, Operand q) { return binary(op_zeta, s, q); }

}  // namespace espalier
