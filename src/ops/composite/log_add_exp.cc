#include "ops/composite/slopes.h"

namespace espalier {
namespace {

Tensor formula_log_add_exp(const Tensor& a, const Tensor& b) {
  const Tensor down = select(compare(a, b, Comparison::kGT), b - a, a - b);
  const Tensor gap = guarded(compare(a, b, Comparison::kNE), down, 0);
  return maximum(a, b) + log_plus_one(exponential(gap));
}
std::vector<Tensor> decompose_log_add_exp(const DecomposeContext& c) {
  return {widened(formula_log_add_exp, c.in(0), c.in(1))};
}

struct LogAddExpApply {
  template <class T>
  static T apply(T a, T b) {
    return log_of_sum(a, b);
  }
};

// logistic(a - b) and logistic(b - a). Of equal infinities the difference is taken as 0; of equal numbers it
// stays what it is, so that the second derivative there is not lost.
void gradient_log_add_exp(GradientContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const Tensor same = bitwise_and(compare(a, b, Comparison::kEQ), bitwise_not(is_finite(a)));
  const Tensor apart = bitwise_not(same);
  const Tensor difference = guarded(apart, a, 0) - guarded(apart, b, 0);
  if (c.wants(0)) c.set(0, c.cotangent() * logistic(difference));
  if (c.wants(1)) c.set(1, c.cotangent() * logistic(-difference));
}

}  // namespace

const OpDef op_log_add_exp = {
    .name = "log_add_exp",
    .doc =
        "log(exp(a) + exp(b)), without overflow, as max(a, b) + log1p(exp(-|a - b|)); equal infinities stay "
        "themselves. c1: floating-point elements. c2: operands have one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .eval = eval_binary<LogAddExpApply, kFloats>,
    .decompose = decompose_log_add_exp,
    .gradient = gradient_log_add_exp,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 30,
};

Tensor log_add_exp(const Tensor& a, const Tensor& b) { return emit(op_log_add_exp, nullptr, {a, b}); }

}  // namespace espalier
