#include "ops/composite/axis.h"

namespace espalier {
namespace {

void infer_logsumexp(InferContext& c) {
  infer_along_axis(c);
  c.results[0].shape.erase(static_cast<size_t>(c.attributes<AxisAttributes>().axis));
}

std::vector<Tensor> decompose_logsumexp(const DecomposeContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Tensor& x = c.in(0);
  const Tensor top = reduce_max(x, {axis});
  const Tensor shift = select(is_finite(top), top, 0);
  return {log(reduce_sum(exponential(x - spread(shift, x.shape(), axis)), {axis})) + shift};
}

void gradient_logsumexp(GradientContext& c) {
  const int64_t axis = c.attributes<AxisAttributes>().axis;
  const Shape& shape = c.in(0).shape();
  // The softmax, but for lines whose result is -inf or NaN.
  const double none = -std::numeric_limits<double>::infinity();
  const Tensor plain = spread(compare(c.out(0), none, Comparison::kGT), shape, axis);
  const Tensor share = select(plain, softmax(guarded(plain, c.in(0), 0), axis),
                              exponential(guarded(bitwise_not(plain), c.in(0), 0)));
  c.set(0, share * spread(c.cotangent(), shape, axis));
}

}  // namespace

const OpDef op_logsumexp = {
    .name = "logsumexp",
    .doc =
        "log sum exp(x) along `axis`, which disappears, by way of x - max x; -inf for a line of -inf or "
        "without "
        "elements. c1: floating-point elements. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<AxisAttributes>,
    .infer = infer_logsumexp,
    .decompose = decompose_logsumexp,
    .gradient = gradient_logsumexp,
    .batch = batch_along_axis,
};

Tensor logsumexp(Operand x, int64_t axis) { return call_along_axis(op_logsumexp, x, axis); }

}  // namespace espalier
