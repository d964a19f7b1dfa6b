#include "ops/composite/axis.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_log_softmax(const DecomposeContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor& x = c.in(0);
  const Tensor shifted = below_largest(x, axis);
  return {shifted - spread(log(reduce_sum(exponential(shifted), {axis})), x.shape(), axis)};
}

void eval_log_softmax(EvalContext& c) {
  const AxisView view(c.in(0).type->shape, c.attributes<AxisAttributes>().axis);
  const int64_t step = view.inner, end = view.size * view.inner;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T* in = c.in(0).as<T>();
    T* result = c.out(0).as<T>();
    view.lines([&](int64_t start) {
      const T* x = in + start;
      T* out = result + start;
      F top = -std::numeric_limits<F>::infinity();
      for (int64_t i = 0; i < end; i += step) top = x[i] > top || std::isnan(F(x[i])) ? F(x[i]) : top;
      double sum = 0;
      for (int64_t i = 0; i < end; i += step) sum += std::exp(below(F(x[i]), top));
      const F log_sum = std::log(F(sum));
      for (int64_t i = 0; i < end; i += step) out[i] = static_cast<T>(below(F(x[i]), top) - log_sum);
    });
  });
}

void gradient_log_softmax(GradientContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor g = c.cotangent(), p = exponential(c.out(0));
  const auto along = [&](const Tensor& t) { return spread(reduce_sum(t, {axis}), g.shape(), axis); };
  // Of a class that has more than half, g (1 - p) - p (sum of the others' g), where 1 - p is the others' sum.
  const Tensor most = compare(p, 0.5, Comparison::kGT);
  const auto others = [&](const Tensor& t) { return along(select(most, 0, t)); };
  c.set(0, select(most, g * others(p) - p * others(g), g - p * along(g)));
}

}  // namespace

const OpDef op_log_softmax = {
    .name = "log_softmax",
    .doc =
        "x - max x - log sum exp(x - max x) along `axis`. A line that holds NaN or only -inf gives NaN; "
        "elements of inf share a probability of 1. The fused body computes f16 and bf16 in f32 and rounds "
        "once. c1: floating-point elements. c2: axis in "
        "range.",
    .composite = true,
    .attributes = make_attributes<AxisAttributes>,
    .infer = infer_along_axis,
    .eval = eval_log_softmax,
    .decompose = decompose_log_softmax,
    .gradient = gradient_log_softmax,
    .batch = batch_along_axis,
    .flops_per_output = 14,
};

Tensor log_softmax(Operand x, int64_t axis) { return call_along_axis(op_log_softmax, x, axis); }

}  // namespace espalier
