#include "ops/elementwise.h"

namespace espalier {
namespace {

void infer_select(InferContext& c) {
  c.require_inputs(3);
  c.require_dtype(c.in(0).dtype == DType::kBool, "c1", "the predicate must be bool, got ", c.in(0));
  c.require(c.in(0).rank() == 0 || c.in(0).shape == c.in(1).shape, "c2",
            "the predicate must be a scalar or have the operands' shape: ", c.in(0), " and ", c.in(1));
  c.require(c.in(1) == c.in(2), "c3", "operands must have one type: ", c.in(1), " and ", c.in(2));
  c.result(c.in(1));
}

void eval_select(EvalContext& c) {
  const bool* predicate = c.in(0).as<bool>();
  const int64_t n = c.out(0).type->elements(), step = c.in(0).type->rank() ? 1 : 0;
  visit_dtype(c.out(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = c.in(1).as<T>(), *b = c.in(2).as<T>();
    T* out = c.out(0).as<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = predicate[i * step] ? a[i] : b[i];
  });
}

void gradient_select(GradientContext& c) {
  const Tensor zero = constant_like(c.out(0).type(), 0);
  if (c.wants(1)) c.set(1, select(c.in(0), c.cotangent(), zero));
  if (c.wants(2)) c.set(2, select(c.in(0), zero, c.cotangent()));
}

void batch_select(BatchContext& c) {
  Tensor predicate = c.in(0);
  const Tensor a = batch_expand(c, 1), b = batch_expand(c, 2);
  if (c.batched[0] && predicate.rank() == 1) predicate = broadcast_in_dim(predicate, a.shape(), {0});
  if (!c.batched[0] && predicate.rank() > 0) predicate = batch_expand(c, 0);
  c.outputs = {select(predicate, a, b)};
}

}  // namespace

const OpDef op_select = {
    .name = "select",
    .doc =
        "on_true where the predicate holds, else on_false. c1: bool predicate. c2: a scalar predicate or one "
        "of the "
        "operands' shape. c3: operands have one type.",
    .infer = infer_select,
    .eval = eval_select,
    .gradient = gradient_select,
    .batch = batch_select,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor select(Operand predicate, Operand on_true, Operand on_false) {
  CallScope scope(predicate.at());
  const Tensor& p = predicate.tensor();
  const auto [a, b] = same_dtype("select", on_true, on_false);
  Shape shape = broadcast_shapes("select", a.shape(), b.shape());
  if (p.rank()) shape = broadcast_shapes("select", shape, p.shape());
  return emit(op_select, nullptr,
              {p.rank() ? broadcast_to(p, shape) : p, broadcast_to(a, shape), broadcast_to(b, shape)});
}

}  // namespace espalier
