#include "ops/elementwise.h"

namespace espalier {
namespace {

void infer_is_finite(InferContext& c) {
  c.require_inputs(1);
  c.require_dtype(is_float(c.in(0).dtype), "c1", "takes floating-point elements, got ", c.in(0));
  c.result({DType::kBool, c.in(0).shape});
}

void eval_is_finite(EvalContext& c) {
  bool* out = c.out(0).as<bool>();
  const int64_t n = c.out(0).type->elements();
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = c.in(0).as<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = std::isfinite(static_cast<Compute<T>>(x[i]));
  });
}

}  // namespace

const OpDef op_is_finite = {
    .name = "is_finite",
    .doc = "Whether x is neither infinite nor NaN. Gives bool. c1: floating-point elements.",
    .infer = infer_is_finite,
    .eval = eval_is_finite,
    .no_gradient = "the result is bool",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor is_finite(Operand x) { return unary(op_is_finite, x); }

}  // namespace espalier
