#include "ops/composite/axis.h"

namespace espalier {
namespace {

void infer(InferContext& c) {
  c.require_inputs(2);
  const TensorType &logits = c.in(0), &labels = c.in(1);
  c.require_dtype(is_float(logits.dtype), "c1", "takes floating-point logits, got ", logits);
  c.require_dtype(is_integer(labels.dtype), "c2", "labels must be integers, got ", labels);
  Shape examples = logits.shape;
  c.require(!examples.empty(), "c3", "logits need a class axis, got ", logits);
  examples.erase(examples.size() - 1);
  c.require(labels.shape == examples, "c3",
            "labels must have the logits' shape without its class axis: ", labels, " and ", logits);
  c.result({logits.dtype, examples});
}

// Where the label says the class is, and 1 or, for a label that is no class, NaN.
struct Target {
  Tensor hot, validity;
  Target(const Tensor& logits, const Tensor& labels) {
    const Shape& shape = logits.shape();
    const auto axis = static_cast<int64_t>(shape.size()) - 1;
    const Tensor label = convert(labels, DType::kI64);
    hot = compare(iota({DType::kI64, shape}, axis), spread(label, shape, axis), Comparison::kEQ);
    const TensorType each{logits.dtype(), labels.shape()};
    const Tensor one = constant_like(each, 1),
                 nan = constant_like(each, std::numeric_limits<double>::quiet_NaN());
    validity = select(compare(label, 0, Comparison::kLT), nan,
                      select(compare(label, shape.back(), Comparison::kGE), nan, one));
  }
};

std::vector<Tensor> decompose(const DecomposeContext& c) {
  const Tensor& x = c.in(0);
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const Target target(x, c.in(1));
  const Tensor shifted = x - spread(reduce_max(x, {axis}), x.shape(), axis);
  const Tensor picked = reduce_sum(select(target.hot, shifted, 0), {axis});
  return {(log(reduce_sum(exponential(shifted), {axis})) - picked) * target.validity};
}

void eval(EvalContext& c) {
  const int64_t classes = c.in(0).type->shape.back(), count = c.out(0).type->elements();
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    visit_integral(c.in(1).type->dtype, [&](auto label_tag) {
      using L = typename decltype(label_tag)::type;
      const T* x = c.in(0).as<T>();
      T* out = c.out(0).as<T>();
      for (int64_t row = 0; row < count; ++row, x += classes) {
        const auto label = static_cast<int64_t>(c.in(1).as<L>()[row]);
        F top = -std::numeric_limits<F>::infinity();
        for (int64_t i = 0; i < classes; ++i) top = x[i] > top || std::isnan(F(x[i])) ? F(x[i]) : top;
        double sum = 0;
        for (int64_t i = 0; i < classes; ++i) sum += std::exp(F(x[i]) - top);
        const bool valid = label >= 0 && label < classes;
        out[row] = valid ? static_cast<T>(std::log(F(sum)) - (F(x[label]) - top))
                         : T(std::numeric_limits<float>::quiet_NaN());
      }
    });
  });
}

void gradient(GradientContext& c) {
  const Tensor& x = c.in(0);
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const Target target(x, c.in(1));
  c.set(0, (softmax(x) - convert(target.hot, x.dtype())) *
               spread(c.cotangent() * target.validity, x.shape(), axis));
}

}  // namespace

const OpDef op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .doc =
        "log sum exp(x) - x[label] for each example, by way of x - max x; x has its classes on the last "
        "axis. A label outside [0, classes) gives NaN as loss and as gradient of its example. The fused body "
        "computes f16 and bf16 in f32 and rounds once. c1: floating-point logits. c2: integer labels. c3: "
        "labels have the logits' shape without the last axis.",
    .composite = true,
    .infer = infer,
    .eval = eval,
    .decompose = decompose,
    .gradient = gradient,
    .batch = batch_elementwise,
    .color = Color::kDeny,
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
