// Derivatives whose own derivatives keep their accuracy: ops with a closed form, where the product rule over
// a decomposition would take the difference of numbers that are nearly equal.
#pragma once

#include "ops/composite/formula.h"

namespace espalier {

// The derivative of tanh; that of logistic is tanh_slope(x / 2) / 4.
Tensor tanh_slope(const Tensor& x);
// (1 - x) (1 + x).
Tensor one_minus_square(const Tensor& x);

// log(exp(a) + exp(b)), smooth also where a = b; equal infinities stay themselves.
Tensor log_add_exp(const Tensor& a, const Tensor& b);
template <class T>
T log_of_sum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const T gap = a == b ? T(0) : -std::abs(a - b);
  return (a > b ? a : b) + std::log1p(std::exp(gap));
}

// The derivative of logistic, s (1 - s), without 1 - s, which is 0 where s rounds to 1.
inline Tensor logistic_slope(const Tensor& x) { return tanh_slope(x * 0.5) * 0.25; }

// near(x) up to |x| = 1e8, whose square is beyond the precision of f64, and far(x) above, each kept away from
// the other's arguments; of 16-bit types in f32.
template <class Near, class Far>
Tensor near_or_far(const Tensor& given, Near near, Far far) {
  return widened(
      [&](const Tensor& x) {
        constexpr double kLarge = 1e8;
        const Tensor large = compare(abs(x), kLarge, Comparison::kGT);
        return select(large, far(guarded(large, x, kLarge)), near(guarded(bitwise_not(large), x, 1)));
      },
      given);
}

}  // namespace espalier
