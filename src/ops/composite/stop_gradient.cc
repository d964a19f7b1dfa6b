#include "espalier/control.h"
#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_stop_gradient(InferContext& c) {
  c.require_inputs(1);
  c.result(c.in(0));
}

void eval_stop_gradient(EvalContext& c) {
  if (c.in(0).data != c.out(0).data && c.in(0).type->bytes())
    std::memcpy(c.out(0).data, c.in(0).data, c.in(0).type->bytes());
}

std::vector<Tensor> decompose_stop_gradient(const DecomposeContext& c) { return {c.in(0)}; }

}  // namespace

const OpDef op_stop_gradient = {
    .name = "stop_gradient",
    .doc = "The operand, as a constant for differentiation.",
    .composite = true,
    .infer = infer_stop_gradient,
    .eval = eval_stop_gradient,
    .decompose = decompose_stop_gradient,
    .no_gradient = "it stops gradients",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
};

Tensor stop_gradient(Operand x) { return unary(op_stop_gradient, x); }

}  // namespace espalier
