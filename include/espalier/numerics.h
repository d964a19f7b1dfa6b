// Numbers that are NaN or infinite, and where they come from. compile({.check_numerics = true}) finds the
// layer and the op that made them in a training step.
#pragma once

#include <string>

#include "espalier/tensor.h"

namespace espalier {

// `x` itself. Raises ValueError[check_numerics] with `message`, how many elements are NaN and infinite and
// the index of the first of them when there are any. Tensors of other than floating-point types have none.
// Raises StateError while a function is traced, where `x` has no elements yet: there, return `x` and check
// the result. From TensorFlow's tf.debugging.check_numerics.
Tensor check_numerics(Operand x, const std::string& message, Location at = Location::here());

}  // namespace espalier
