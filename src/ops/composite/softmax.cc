#include "ops/composite/axis.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_softmax(const DecomposeContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor& x = c.in(0);
  const Tensor e = exponential(below_largest(x, axis));
  return {e / spread(reduce_sum(e, {axis}), x.shape(), axis)};
}

void eval_softmax(EvalContext& c) {
  const AxisView view(c.in(0).type->shape, c.attributes<AxisAttributes>().axis);
  const int64_t step = view.inner, end = view.size * view.inner;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T* in = c.in(0).as<T>();
    T* result = c.out(0).as<T>();
    std::vector<F> line(static_cast<size_t>(view.size));
    view.lines([&](int64_t start) {
      const T* x = in + start;
      T* out = result + start;
      const auto [top, sum] = exp_below_largest(x, line, step);
      for (int64_t i = 0, k = 0; i < end; i += step, ++k) out[i] = static_cast<T>(line[k] / F(sum));
    });
  });
}

void gradient_softmax(GradientContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor& s = c.out(0);
  const auto along = [&](const Tensor& t) { return spread(reduce_sum(t, {axis}), s.shape(), axis); };
  // A constant added to g changes nothing. Where one class has more than half, g is counted from that
  // class's, so that its own derivative, s (1 - s), does not come of 1 - s.
  const Tensor g = c.cotangent() - along(select(compare(s, 0.5, Comparison::kGT), c.cotangent(), 0));
  c.set(0, s * (g - along(g * s)));
}

}  // namespace

const OpDef op_softmax = {
    .name = "softmax",
    .doc =
        "exp(x - max x) / sum exp(x - max x) along `axis`. A line that holds NaN or only -inf gives NaN; "
        "elements of inf share 1. The fused body computes f16 and bf16 in f32 and rounds once. c1: "
        "floating-point elements. c2: axis in "
        "range.",
    .composite = true,
    .attributes = make_attributes<AxisAttributes>,
    .infer = infer_along_axis,
    .eval = eval_softmax,
    .decompose = decompose_softmax,
    .gradient = gradient_softmax,
    .batch = batch_along_axis,
    .flops_per_output = 14,
};

Tensor softmax(Operand x, int64_t axis) { return call_along_axis(op_softmax, x, axis); }

}  // namespace espalier
