// Penalties on weights, by Keras' names and formulas.
#pragma once

#include <functional>

#include "espalier/tensor.h"

namespace espalier {

// (weight) -> the penalty, a scalar that training adds to the loss.
using Regularizer = std::function<Tensor(const Tensor& weight)>;

namespace regularizers {

// factor * sum |w|. These raise ValueError[regularizer.l1], [regularizer.l2] for factors that are negative or
// not finite.
Regularizer L1(double factor = 0.01, Location at = Location::here());
// factor * sum w^2.
Regularizer L2(double factor = 0.01, Location at = Location::here());
struct L1L2Options {
  double l1 = 0, l2 = 0;
};
// The sum of both.
Regularizer L1L2(L1L2Options options, Location at = Location::here());

}  // namespace regularizers
}  // namespace espalier
