// Control flow as tensor ops, and functions that differentiate in a way of their own.
//
// Functions are traced once into regions: closed graphs that may use any tensor from outside (a capture). All
// of it works eagerly and under trace, batches under vmap, and has gradients of every order, captures
// included; `while_loop` needs a bound for gradients. Functions that return one Tensor make the call return
// one Tensor.
//
// Variables that a function assigns have their new values after the call: of the branch that was taken, of
// the last turn of a loop (each turn sees what the one before assigned). Such a function is traced twice. The
// condition of a loop, a custom_gradient and functions under vmap may not assign:
// StateError[while.condition], StateError[variable.region].
#pragma once

#include <optional>

#include "espalier/ops.h"
#include "espalier/tensor_function.h"

namespace espalier {

// true_fn(operands) when `predicate` (bool[]) holds, else false_fn(operands). Both must give the same types,
// else ShapeError[if.c3] names the result and both types. When the predicate is known (concrete), only that
// branch is called, in place. Under vmap with one predicate an example, both branches run for all examples.
Tensors cond(Operand predicate, const TensorFunction& true_fn, const TensorFunction& false_fn,
             const Tensors& operands = {});
// branches[index](operands) for an integer scalar `index`; the last branch when there is no such branch.
// Otherwise as cond.
Tensors switch_case(Operand index, const std::vector<TensorFunction>& branches, const Tensors& operands = {});

struct WhileOptions {
  // With a bound the loop is a scan of that length, which stops changing its values when the condition fails:
  // it can be differentiated, and it ends after `max_iterations` even when the condition still holds. Each of
  // them takes a step's time, whether it changes anything or not.
  std::optional<int64_t> max_iterations = {};
};
// Repeats vars = body(vars) while condition(vars) (one bool[]) holds. The types of vars stay the same, else
// ShapeError[while.c3]. Without a bound reverse mode raises UnsupportedError[while.gradient].
Tensors while_loop(const TensorFunction& condition, const TensorFunction& body, const Tensors& vars,
                   const WhileOptions& options = {}, Location at = Location::here());
// vars = body(i, vars...) for i = lower, ..., upper - 1 (i32[]; the bounds must fit). Differentiable.
Tensors fori_loop(int64_t lower, int64_t upper, const TensorFunction& body, const Tensors& vars,
                  Location at = Location::here());

struct ScanOptions {
  // Steps. Needed only without scanned values.
  std::optional<int64_t> length = {};
  // Begins with the last slice; y of a slice stays at its place.
  bool reverse = false;
};
struct ScanResult {
  Tensors carry;  // after the last step
  Tensors ys;     // each with a leading axis of steps
};
// One step: (carry, slices of xs) to (next carry, y). The carry keeps its types, else ShapeError[scan.c4].
using ScanBody = std::function<ScanResult(std::span<const Tensor> carry, std::span<const Tensor> x)>;
// Carries a state along the leading axis of `xs`. Reverse mode keeps the carry of every step and computes the
// rest of the step again.
ScanResult scan(const ScanBody& body, const Tensors& init, const Tensors& xs, const ScanOptions& options = {},
                Location at = Location::here());
// f on each slice of xs along the leading axis, results stacked; one after the other (vmap: all at once).
Tensors map(const TensorFunction& f, const Tensors& xs, Location at = Location::here());
// y[0] = x[0], y[i] = f(y[i-1], x[i]) along `axis`, for associative f, in about 2 log2(n) calls of f on long
// pieces. f(a..., b...) takes two lists of xs.size() tensors of any length along `axis`, combines them
// elementwise along it, and returns one such list.
Tensors associative_scan(const TensorFunction& f, const Tensors& xs, int64_t axis = 0,
                         Location at = Location::here());

// f(operands) as one node named `name` whose inside is traced once. Its gradient is one such node too.
Tensors call(const TensorFunction& f, const Tensors& operands, std::string name = "function",
             Location at = Location::here());
// f, whose gradient computes f again instead of keeping what lies between. For memory.
TensorFunction checkpoint(TensorFunction f);
// x, as a constant for differentiation.
Tensor stop_gradient(Operand x);
// The gradient of one call: the cotangents of the floating-point results (zeros where none arrived), in their
// order, to the gradients of the floating-point operands, in theirs.
using CustomBackward = std::function<Tensors(
    std::span<const Tensor> operands, std::span<const Tensor> results, std::span<const Tensor> cotangents)>;
// `forward` with `backward` as its gradient, whatever forward does. Captures of either are constants.
TensorFunction custom_gradient(TensorFunction forward, CustomBackward backward);

template <ReturnsTensor T, ReturnsTensor F>
Tensor cond(Operand predicate, T&& true_fn, F&& false_fn, const Tensors& operands = {}) {
  return cond(std::move(predicate), TensorFunction(std::forward<T>(true_fn)),
              TensorFunction(std::forward<F>(false_fn)), operands)
      .at(0);
}
template <TensorCallable C, ReturnsTensor B>
Tensor while_loop(C&& condition, B&& body, const Tensor& var, const WhileOptions& options = {},
                  Location at = Location::here()) {
  return while_loop(TensorFunction(std::forward<C>(condition)), TensorFunction(std::forward<B>(body)),
                    Tensors{var}, options, at)
      .at(0);
}
template <ReturnsTensor B>
Tensor fori_loop(int64_t lower, int64_t upper, B&& body, const Tensor& var, Location at = Location::here()) {
  return fori_loop(lower, upper, TensorFunction(std::forward<B>(body)), Tensors{var}, at).at(0);
}
// body(carry, x) returns {carry, y}.
template <class B>
requires std::is_invocable_r_v < std::pair<Tensor, Tensor>,
const B&, const Tensor&,
    const Tensor& > std::pair<Tensor, Tensor> scan(const B& body, const Tensor& init, const Tensor& xs,
                                                   const ScanOptions& options = {},
                                                   Location at = Location::here()) {
  ScanResult out =
      scan(ScanBody([&body](std::span<const Tensor> carry, std::span<const Tensor> x) -> ScanResult {
             auto [next, y] = body(carry[0], x[0]);
             return {{std::move(next)}, {std::move(y)}};
           }),
           Tensors{init}, Tensors{xs}, options, at);
  return {std::move(out.carry[0]), std::move(out.ys[0])};
}
template <ReturnsTensor F>
Tensor map(F&& f, const Tensor& xs, Location at = Location::here()) {
  return map(TensorFunction(std::forward<F>(f)), Tensors{xs}, at).at(0);
}
template <ReturnsTensor F>
Tensor associative_scan(F&& f, const Tensor& xs, int64_t axis = 0, Location at = Location::here()) {
  return associative_scan(TensorFunction(std::forward<F>(f)), Tensors{xs}, axis, at).at(0);
}

}  // namespace espalier
