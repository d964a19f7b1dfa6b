#include "ops/composite/cross_entropy.h"

namespace espalier {
namespace {

// c4: the cotangent has the logits' dtype and the labels' shape.
void infer_softmax_cross_entropy_gradient(InferContext& c) {
  c.require_inputs(3);
  const TensorType each{c.in(0).dtype, infer_labels(c)};
  c.require_dtype(c.in(2).dtype == each.dtype, "c4", "the cotangent must be ", each, ", got ", c.in(2));
  c.require(c.in(2).shape == each.shape, "c4", "the cotangent must be ", each, ", got ", c.in(2));
  c.result(c.in(0));
}

void eval_softmax_cross_entropy_gradient(EvalContext& c) {
  const int64_t classes = c.in(0).type->shape.back(), count = c.in(2).type->elements();
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    visit_integral(c.in(1).type->dtype, [&](auto label_tag) {
      using L = typename decltype(label_tag)::type;
      const T *x = c.in(0).as<T>(), *cotangent = c.in(2).as<T>();
      T* out = c.out(0).as<T>();
      std::vector<F> powers(static_cast<size_t>(classes));
      for (int64_t row = 0; row < count; ++row, x += classes, out += classes) {
        const auto label = static_cast<int64_t>(c.in(1).as<L>()[row]);
        const bool valid = label >= 0 && label < classes;
        const F weight = valid ? F(cotangent[row]) : std::numeric_limits<F>::quiet_NaN();
        const auto [top, sum] = exp_below_largest(x, powers);
        for (int64_t i = 0; i < classes; ++i)
          out[i] = static_cast<T>((powers[static_cast<size_t>(i)] / F(sum) - F(i == label)) * weight);
      }
    });
  });
}

std::vector<Tensor> decompose_softmax_cross_entropy_gradient(const DecomposeContext& c) {
  const Tensor& x = c.in(0);
  const Target target(x, c.in(1));
  const Tensor weight = spread(c.in(2) * target.validity, x.shape(), static_cast<int64_t>(x.rank()) - 1);
  return {(softmax(x) - convert(target.hot, x.dtype())) * weight};
}

}  // namespace

const OpDef op_softmax_cross_entropy_gradient = {
    .name = "softmax_cross_entropy_gradient",
    .doc =
        "(softmax(x) - onehot(label)) g: the gradient of softmax_cross_entropy for its logits x, where g is "
        "the "
        "gradient of each example's loss. A label outside [0, classes) gives NaN for its example. c1: "
        "floating-point logits. c2: integer labels. c3: labels have the logits' shape without the last axis. "
        "c4: the cotangent has the logits' dtype and the labels' shape.",
    .composite = true,
    .infer = infer_softmax_cross_entropy_gradient,
    .eval = eval_softmax_cross_entropy_gradient,
    .decompose = decompose_softmax_cross_entropy_gradient,
    .batch = batch_elementwise,
    .cost =
        [](const Attributes*, std::span<const TensorType* const> inputs, std::span<const TensorType>) {
          return Cost{16.0 * static_cast<double>(inputs[0]->elements()),
                      static_cast<double>(2 * inputs[0]->bytes() + inputs[1]->bytes())};
        },
    .sample =
        [](DType dtype) {
          emit(op_softmax_cross_entropy_gradient, nullptr,
               {full({2, 3}, 1, dtype), full({2}, 1, DType::kI32), full({2}, 1, dtype)});
        },
};

}  // namespace espalier
