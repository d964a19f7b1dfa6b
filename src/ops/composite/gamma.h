// Where lgamma and digamma are approximated: below 0 by reflection, below 1 by recurrence, around [1, 3] and
// above by Chebyshev series.
#pragma once

#include "ops/composite/formula.h"

namespace espalier {

inline constexpr double kPi = 3.141592653589793;

struct GammaArgument {
  explicit GammaArgument(const Tensor& x)
      : reflected(is_less(x, 0)),
        pole(bitwise_and(compare(x, 0, Comparison::kLE), compare(x, floor(x), Comparison::kEQ))),
        z(select(reflected, 1 - x, x)),
        below_one(is_less(z, 1)),
        near(is_less(z, 3)),
        offset(guarded(near, select(below_one, z - 1, z - 2), 0)),
        far(guarded(bitwise_not(near), z, 3)),
        fraction(guarded(bitwise_and(reflected, bitwise_not(pole)), x - round_nearest_even(x), 0.5)) {}

  Tensor reflected, pole;  // x < 0; x is 0, -1, -2, ...
  Tensor z;                // x, or 1 - x where reflected
  Tensor below_one, near;  // z < 1, z < 3
  Tensor offset;           // near: exactly z - 2, or z + 1 - 2 below one; in [-1, 1]
  Tensor far;              // z, at least 3
  Tensor fraction;         // reflected: x minus the nearest integer, never 0

  // 18 / z^2 - 1: the argument of series for z >= 3.
  Tensor far_argument() const { return 18 / far / far - 1; }
};

// The derivative of digamma: polygamma(1, x), reflected below 0. At 0, -1, -2, ... it is infinite; that is
// why the fraction is not kept away from 0 here.
inline Tensor trigamma(const Tensor& x) {
  const GammaArgument a(x);
  const Tensor value = polygamma(constant_like(x.type(), 1), a.z);
  const Tensor cosecant = kPi / sine(guarded(a.reflected, x - round_nearest_even(x), 0.5) * kPi);
  return select(a.reflected, cosecant * cosecant - value, value);
}

}  // namespace espalier
