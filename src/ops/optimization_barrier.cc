#include "ops/elementwise.h"

namespace espalier {
namespace {

void infer_optimization_barrier(InferContext& c) {
  for (size_t i = 0; i < c.size(); ++i) c.result(c.in(i));
}

void eval_optimization_barrier(EvalContext& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (const size_t bytes = c.out(i).type->bytes()) std::memcpy(c.out(i).data, c.in(i).data, bytes);
  }
}

void gradient_optimization_barrier(GradientContext& c) {
  const auto [positions, cotangents] = wanted_cotangents(c);
  if (positions.empty()) return;
  const std::vector<Tensor> held = optimization_barrier(cotangents);
  for (size_t i = 0; i < held.size(); ++i) c.set(positions[i], held[i]);
}

}  // namespace

const OpDef op_optimization_barrier = {
    .name = "optimization_barrier",
    .doc =
        "Its operands. Nothing moves across: no result is available before all operands are, and no pass "
        "merges or removes what is on either side with what is on the other.",
    .infer = infer_optimization_barrier,
    .eval = eval_optimization_barrier,
    .gradient = gradient_optimization_barrier,
    .batch = batch_elementwise,
};

std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& values, Location at) {
  CallScope scope(at);
  return emit_all(op_optimization_barrier, nullptr, values);
}

}  // namespace espalier
