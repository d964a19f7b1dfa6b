// Transforms of functions of tensors: derivatives and batching.
//
// A transform gives a function that works eagerly and under trace, and that can be transformed again: grad of
// vmap, vmap of grad, grad of grad. The function is traced at each call; it may use tensors from outside,
// which count as constants of that transform (an outer transform or tape still sees them). Variables that it
// assigns have their new values afterwards; under vmap the value must be one for all examples
// (StateError[variable.region]). What a transform refuses is reported at the line that made it.
#pragma once

#include <optional>

#include "espalier/tensor_function.h"

namespace espalier {

struct GradOptions {
  // Positions of the arguments to differentiate with respect to; empty: every floating-point argument.
  std::vector<size_t> arguments = {};
};

// The gradients of f's first result, a floating-point scalar, one for each chosen argument and of its type;
// zeros where nothing connects them. Raises ShapeError[grad.scalar] for another result.
TensorFunction grad(TensorFunction f, GradOptions options = {}, Location at = Location::here());
// f's results, then the gradients.
TensorFunction value_and_grad(TensorFunction f, GradOptions options = {}, Location at = Location::here());

struct Vjp {
  Tensors outputs;
  // Cotangents of the floating-point outputs, in their order, to gradients of the floating-point inputs, in
  // theirs.
  TensorFunction pullback;
};
// f at `inputs`, and the transposed Jacobian there. The pullback computes f again (under trace the passes
// merge it).
Vjp vjp(const TensorFunction& f, const Tensors& inputs, Location at = Location::here());

struct Jvp {
  Tensors outputs;
  Tensors tangents;  // of the floating-point outputs
};
// f at `inputs`, and its derivative along `tangents` (one for each floating-point input). Reverse mode,
// twice.
Jvp jvp(const TensorFunction& f, const Tensors& inputs, const Tensors& tangents,
        Location at = Location::here());

// The Jacobian of each floating-point result with respect to each chosen argument, of shape
// result.shape + argument.shape, results outermost. Reverse mode over all elements of a result at once.
TensorFunction jacobian(TensorFunction f, GradOptions options = {}, Location at = Location::here());
// jacobian(grad(f)): of shape argument_i.shape + argument_j.shape, i outermost.
TensorFunction hessian(TensorFunction f, GradOptions options = {}, Location at = Location::here());

struct VmapOptions {
  // The axis of examples in each argument and result; nullopt: one argument for all examples. Missing
  // entries: 0.
  std::vector<std::optional<int64_t>> in_axes = {};
  std::vector<int64_t> out_axes = {};
};
// f for many examples at once: vmap(f)(xs) is the stack of f(x). Raises ShapeError[vmap.size] when the
// examples are not as many everywhere, UnsupportedError[<op>.batch] for an op that cannot.
TensorFunction vmap(TensorFunction f, VmapOptions options = {}, Location at = Location::here());

}  // namespace espalier
