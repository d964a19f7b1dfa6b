// The complementary error function for the decompositions of the error functions.
#pragma once

#include "ops/composite/formula.h"

namespace espalier {

// erfc(x) for x >= 0: exp(-x^2) g(t) / (x + 4), where t = 1 - 8 / (x + 4) and g is a Chebyshev series fitted
// to exp(x^2) erfc(x) (x + 4). Half of the bits of x squared exactly keep the exponent exact.
inline Tensor erfc_of_positive(const Tensor& x) {
  constexpr double kSeries[] = {
      1.6320978781965260,      -1.5054329427054697,     0.59032141828889448,    -0.19828527172011035,
      0.056908430228468696,    -0.013773973050870097,   0.0027290167331352322,  -0.00041361807903024753,
      3.8914183807960600e-5,   4.7954855033648177e-7,   -8.6991070813798257e-7, 1.2116707094396556e-7,
      3.7919670260818197e-9,   -3.4533646779963823e-9,  2.7488625703813610e-10, 6.8139593753185104e-11,
      -1.3568522747316355e-11, -1.0463235067416098e-12, 4.8510703212434562e-13, 8.4587581729792553e-15,
      -1.6469363733616695e-14, 2.5314850886804662e-16,  5.7572443933801197e-16};
  const bool wide = x.dtype() == DType::kF64;
  // erfc(28) is zero in f64.
  const Tensor a = minimum(x, 28), shifted = a + 4;
  const Tensor high = reduce_precision(a, wide ? 11 : 8, wide ? 25 : 11);
  const Tensor decay = exponential(-(high * high)) * exponential(-((a - high) * (a + high)));
  return decay * (chebyshev(1 - 8 / shifted, kSeries) / shifted);
}

inline constexpr double kTwoOverRootPi = 1.1283791670955126;

}  // namespace espalier
