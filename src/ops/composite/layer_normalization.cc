#include "ops/composite/normalization.h"

namespace espalier {
namespace {

struct LayerNormalizationAttributes final : Attributes {
  double epsilon = 1e-3;
  void fields(FieldVisitor& v) override { v.field("epsilon", epsilon); }
};

void infer_layer_normalization(InferContext& c) {
  c.require_inputs(3);
  const Shape &x = c.in(0).shape, &scale = c.in(1).shape;
  c.require(scale.size() <= x.size(), "c2", "scale must not have more axes than x: ", c.in(1), " and ",
            c.in(0));
  require_normalization(c, x.span().last(scale.size()));
  c.result(c.in(0));
}

// x and its axes seen as rows of normalised elements.
struct Rows {
  Tensor x;
  Shape shape;
  Dims axes;
  double count;
  Rows(const Tensor& input, size_t rank, DType dtype) : x(convert(input, dtype)), shape(input.shape()) {
    for (size_t i = shape.size() - rank; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    count = static_cast<double>(num_elements(shape.span().last(rank)));
  }
  // The mean of each row, repeated.
  Tensor mean(const Tensor& t) const {
    return broadcast_in_dim(reduce_sum(t, axes) / count, shape, Dims::range(shape.size() - axes.size()));
  }
};

std::vector<Tensor> decompose_layer_normalization(const DecomposeContext& c) {
  const DType dtype = normalization_dtype(c.in(0).dtype());
  const Rows rows(c.in(0), c.in(1).rank(), dtype);
  const Tensor centered = rows.x - rows.mean(rows.x);
  const Tensor unit =
      centered * rsqrt(rows.mean(centered * centered) + c.attributes<LayerNormalizationAttributes>().epsilon);
  return {convert(unit * convert(c.in(1), dtype) + convert(c.in(2), dtype), c.in(0).dtype())};
}

template <class T, class S>
void normalize(EvalContext& c, int64_t n) {
  using F = Compute<T>;
  const F epsilon = static_cast<F>(c.attributes<LayerNormalizationAttributes>().epsilon);
  const S *scale = c.in(1).as<S>(), *offset = c.in(2).as<S>();
  const int64_t total = c.in(0).type->elements();
  for (int64_t start = 0; start < total; start += n) {
    const T* x = c.in(0).as<T>() + start;
    T* out = c.out(0).as<T>() + start;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<F>(x[i]);
    const F mean = static_cast<F>(sum) / static_cast<F>(n);
    for (int64_t i = 0; i < n; ++i) {
      const F d = static_cast<F>(x[i]) - mean;
      squares += d * d;
    }
    const F factor = 1 / std::sqrt(static_cast<F>(squares) / static_cast<F>(n) + epsilon);
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>((static_cast<F>(x[i]) - mean) * factor * static_cast<F>(scale[i]) +
                              static_cast<F>(offset[i]));
    }
  }
}

void eval_layer_normalization(EvalContext& c) {
  const int64_t n = c.in(1).type->elements();
  if (c.in(0).type->elements() == 0) return;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_half<T>) {
      if (c.in(1).type->dtype == DType::kF32) return normalize<T, float>(c, n);
    }
    normalize<T, T>(c, n);
  });
}

void gradient_layer_normalization(GradientContext& c) {
  const DType dtype = normalization_dtype(c.in(0).dtype());
  const Rows rows(c.in(0), c.in(1).rank(), dtype);
  const Tensor centered = rows.x - rows.mean(rows.x);
  const Tensor factor =
      rsqrt(rows.mean(centered * centered) + c.attributes<LayerNormalizationAttributes>().epsilon);
  const Tensor unit = centered * factor, g = convert(c.cotangent(), dtype);
  if (c.wants(0)) {
    const Tensor scaled = g * convert(c.in(1), dtype);
    c.set(0,
          convert(factor * (scaled - rows.mean(scaled) - unit * rows.mean(scaled * unit)), c.in(0).dtype()));
  }
  if (c.wants(1)) c.set(1, convert(sum_to_shape(g * unit, c.in(1).shape()), c.in(1).dtype()));
  if (c.wants(2)) c.set(2, convert(sum_to_shape(g, c.in(2).shape()), c.in(2).dtype()));
}

}  // namespace

const OpDef op_layer_normalization = {
    .name = "layer_normalization",
    .doc =
        "From (x, scale, offset): (x - mean) / sqrt(variance + epsilon) * scale + offset, with mean and "
        "variance over "
        "the last axes of x, as many as scale has. Computed in f32 for f16 and bf16, or f64 for f64, and "
        "rounded once. "
        "c1: floating-point x. c2: scale and offset have the shape of x's last axes and x's dtype or f32, "
        "both the "
        "same.",
    .composite = true,
    .attributes = make_attributes<LayerNormalizationAttributes>,
    .infer = infer_layer_normalization,
    .eval = eval_layer_normalization,
    .decompose = decompose_layer_normalization,
    .gradient = gradient_layer_normalization,
    .flops_per_output = 10,
};

Tensor layer_normalization(Operand x, Operand scale, Operand offset, double epsilon) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<LayerNormalizationAttributes>();
  attributes->epsilon = epsilon;
  return emit(op_layer_normalization, attributes, {x.tensor(), scale.tensor(), offset.tensor()});
}

}  // namespace espalier
