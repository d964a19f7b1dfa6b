#include "ops/elementwise.h"

namespace espalier {
namespace {

void infer_clamp(InferContext& c) {
  c.require_inputs(3);
  const TensorType& x = c.in(1);
  c.require_dtype(c.in(0).dtype == x.dtype && c.in(2).dtype == x.dtype, "c3",
                  "dtypes must be equal: ", c.in(0), ", ", x, " and ", c.in(2));
  c.require(c.in(0).rank() == 0 || c.in(0).shape == x.shape, "c1",
            "the lower bound must be a scalar or have the operand's shape: ", c.in(0), " and ", x);
  c.require(c.in(2).rank() == 0 || c.in(2).shape == x.shape, "c2",
            "the upper bound must be a scalar or have the operand's shape: ", c.in(2), " and ", x);
  c.result(x);
}

template <class T>
T limit(T low, T x, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    for (const T value : {low, x, high}) {
      if (std::isnan(value)) return value;
    }
  }
  const T raised = x < low ? low : x, out = high < raised ? high : raised;
  if constexpr (std::is_floating_point_v<T>) return flush_subnormal(out);
  return out;
}

void eval_clamp(EvalContext& c) {
  const int64_t n = c.out(0).type->elements();
  const int64_t low_step = c.in(0).type->rank() ? 1 : 0, high_step = c.in(2).type->rank() ? 1 : 0;
  visit_dtype(c.out(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T *low = c.in(0).as<T>(), *x = c.in(1).as<T>(), *high = c.in(2).as<T>();
    T* out = c.out(0).as<T>();
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>(limit(static_cast<F>(low[i * low_step]), static_cast<F>(x[i]),
                                    static_cast<F>(high[i * high_step])));
    }
  });
}

void gradient_clamp(GradientContext& c) {
  const Tensor& x = c.in(1);
  const Tensor low = broadcast_to(c.in(0), x.shape()), high = broadcast_to(c.in(2), x.shape());
  const Tensor zero = constant_like(x.type(), 0);
  const Tensor above = compare(maximum(x, low), high, Comparison::kGT);
  const Tensor below = bitwise_and(compare(x, low, Comparison::kLT), bitwise_not(above));
  if (c.wants(0)) c.set(0, sum_to_shape(select(below, c.cotangent(), zero), c.in(0).shape()));
  if (c.wants(1)) {
    const Tensor inside = bitwise_and(compare(low, x, Comparison::kLT), compare(x, high, Comparison::kLT));
    c.set(1, select(inside, c.cotangent(), zero));
  }
  if (c.wants(2)) c.set(2, sum_to_shape(select(above, c.cotangent(), zero), c.in(2).shape()));
}

void batch_clamp(BatchContext& c) {
  std::vector<Tensor> inputs{c.in(0), batch_expand(c, 1), c.in(2)};
  for (const size_t i : {size_t{0}, size_t{2}}) {
    if (c.batched[i] && inputs[i].rank() == 1) {
      inputs[i] = broadcast_in_dim(inputs[i], inputs[1].shape(), {0});
    } else if (!c.batched[i] && inputs[i].rank() > 0) {
      inputs[i] = batch_expand(c, i);
    }
  }
  c.outputs = {emit(c.op, nullptr, inputs)};
}

}  // namespace

const OpDef op_clamp = {
    .name = "clamp",
    .doc =
        "minimum(maximum(x, low), high), operands in the order low, x, high; NaN wins. The gradient goes to "
        "x "
        "strictly between the bounds, to a bound strictly beyond it, nowhere on a bound. c1, c2: a bound is "
        "a "
        "scalar or has the shape of x. c3: operands have one dtype.",
    .infer = infer_clamp,
    .eval = eval_clamp,
    .gradient = gradient_clamp,
    .batch = batch_clamp,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 2,
};

Tensor clamp(Operand low, Operand x, Operand high) {
  CallScope scope(x.at());
  const Tensor& operand = x.tensor();
  const auto bound = [&](const Operand& b) {
    const Tensor t = b.as(operand.dtype());
    return t.rank() ? broadcast_to(t, operand.shape()) : t;
  };
  return emit(op_clamp, nullptr, {bound(low), operand, bound(high)});
}

}  // namespace espalier
