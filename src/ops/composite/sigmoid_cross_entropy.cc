#include "ops/composite/formula.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_sigmoid_cross_entropy(const DecomposeContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  const Tensor plain = maximum(x, 0) - x * y + log_plus_one(exponential(negate(abs(x))));
  // Of an infinite logit, where that is inf - inf: the share of the other class times infinity.
  const Tensor missed = select(compare(x, 0, Comparison::kGT), 1 - y, negate(y));
  const Tensor endless = guarded(compare(missed, 0, Comparison::kNE), missed * x, 0);
  return {select(is_equal(abs(x), std::numeric_limits<double>::infinity()), endless, plain)};
}

struct SigmoidCrossEntropyApply {
  template <class T>
  static T apply(T x, T y) {
    if (std::isinf(x)) {
      const T missed = x > 0 ? 1 - y : -y;
      return missed == 0 ? T(0) : missed * x;
    }
    return (x > 0 || std::isnan(x) ? x : T(0)) - x * y + std::log1p(std::exp(-std::abs(x)));
  }
};

void gradient_sigmoid_cross_entropy(GradientContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  // s - y, without 1 - s where y is 1 and s rounds to it.
  if (c.wants(0)) c.set(0, (logistic(x) * (1 - y) - logistic(-x) * y) * c.cotangent());
  if (c.wants(1)) c.set(1, negate(c.in(0) * c.cotangent()));
}

}  // namespace

const OpDef op_sigmoid_cross_entropy = {
    .name = "sigmoid_cross_entropy",
    .doc =
        "-y log s - (1 - y) log(1 - s) with s = 1 / (1 + exp(-x)), from logits x and labels y, elementwise, "
        "as max(x, "
        "0) - x y + log(1 + exp(-|x|)). An infinite logit gives 0 where y is its class alone, else inf. The "
        "fused body computes f16 and bf16 in f32 and rounds once. c1: floating-point elements. c2: operands "
        "of one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .eval = eval_binary<SigmoidCrossEntropyApply, kFloats>,
    .decompose = decompose_sigmoid_cross_entropy,
    .gradient = gradient_sigmoid_cross_entropy,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 24,
};

Tensor sigmoid_cross_entropy(Operand logits, Operand labels) {
  return binary(op_sigmoid_cross_entropy, logits, labels);
}

}  // namespace espalier
