#include "ops/composite/cross_entropy.h"

namespace espalier {
namespace {

void infer_softmax_cross_entropy(InferContext& c) {
  c.require_inputs(2);
  c.result({c.in(0).dtype, infer_labels(c)});
}

std::vector<Tensor> decompose_softmax_cross_entropy(const DecomposeContext& c) {
  const Tensor& x = c.in(0);
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const Target target(x, c.in(1));
  const Tensor shifted = below_largest(x, axis);
  const Tensor picked = reduce_sum(select(target.hot, shifted, 0), {axis});
  return {(log(reduce_sum(exponential(shifted), {axis})) - picked) * target.validity};
}

void eval_softmax_cross_entropy(EvalContext& c) {
  const int64_t classes = c.in(0).type->shape.back(), count = c.out(0).type->elements();
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    visit_integral(c.in(1).type->dtype, [&](auto label_tag) {
      using L = typename decltype(label_tag)::type;
      const T* x = c.in(0).as<T>();
      T* out = c.out(0).as<T>();
      std::vector<F> powers(static_cast<size_t>(classes));
      for (int64_t row = 0; row < count; ++row, x += classes) {
        const auto label = static_cast<int64_t>(c.in(1).as<L>()[row]);
        const auto [top, sum] = exp_below_largest(x, powers);
        const bool valid = label >= 0 && label < classes;
        out[row] = valid ? static_cast<T>(std::log(F(sum)) - below(F(x[label]), top))
                         : T(std::numeric_limits<float>::quiet_NaN());
      }
    });
  });
}

void gradient_softmax_cross_entropy(GradientContext& c) {
  c.set(0, emit(op_softmax_cross_entropy_gradient, nullptr, {c.in(0), c.in(1), c.cotangent()}));
}

}  // namespace

const OpDef op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .doc =
        "log sum exp(x) - x[label] for each example, by way of x - max x, where inf - inf is 0; x has its "
        "classes on the last axis. A label outside [0, classes) gives NaN as loss and as gradient of its "
        "example. The fused body "
        "computes f16 and bf16 in f32 and rounds once. c1: floating-point logits. c2: integer labels. c3: "
        "labels have the logits' shape without the last axis.",
    .composite = true,
    .infer = infer_softmax_cross_entropy,
    .eval = eval_softmax_cross_entropy,
    .decompose = decompose_softmax_cross_entropy,
    .gradient = gradient_softmax_cross_entropy,
    .batch = batch_elementwise,
    .cost =
        [](const Attributes*, std::span<const TensorType* const> inputs, std::span<const TensorType>) {
          return Cost{14.0 * static_cast<double>(inputs[0]->elements()),
                      static_cast<double>(inputs[0]->bytes() + inputs[1]->bytes())};
        },
    .sample =
        [](DType dtype) {
          softmax_cross_entropy(full({2, 3}, 1, dtype), full({2}, 1, DType::kI32));
        },
};

Tensor softmax_cross_entropy(Operand logits, Operand labels) {
  CallScope scope(logits.at());
  return emit(op_softmax_cross_entropy, nullptr, {logits.tensor(), labels.tensor()});
}

}  // namespace espalier
