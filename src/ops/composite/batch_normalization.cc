#include "ops/composite/axis.h"
#include "ops/composite/normalization.h"

namespace espalier {
namespace {

struct BatchNormalizationAttributes final : Attributes {
  double epsilon = 1e-3;
  int64_t axis = 0;
  void fields(FieldVisitor& v) override {
    v.field("epsilon", epsilon);
    v.field("feature_index", axis);
  }
};

void infer_batch_normalization(InferContext& c) {
  c.require(c.size() == 3 || c.size() == 4, "arity", "takes x, scale, offset and perhaps row_weight, got ",
            c.size(), " inputs");
  const int64_t axis = c.attributes<BatchNormalizationAttributes>().axis;
  const TensorType& x = c.in(0);
  c.require_axis(axis, x.rank(), "c3");
  require_normalization(c, {x.shape[axis]});
  const TensorType statistic{normalization_dtype(x.dtype), {x.shape[axis]}};
  if (c.size() == 4) {
    c.require(axis != 0 && c.in(3) == TensorType{statistic.dtype, {x.shape[0]}}, "c4", "row_weight must be ",
              TensorType{statistic.dtype, {x.shape[0]}}, " over axis 0, which is not the feature axis; got ",
              c.in(3));
  }
  c.result(x);
  c.result(statistic);
  c.result(statistic);
}

std::vector<Tensor> decompose_batch_normalization(const DecomposeContext& c) {
  const auto& a = c.attributes<BatchNormalizationAttributes>();
  const Shape& shape = c.in(0).shape();
  const DType dtype = normalization_dtype(c.in(0).dtype());
  Tensor x = convert(c.in(0), dtype);
  Dims others;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) != a.axis) others.push_back(static_cast<int64_t>(i));
  }
  const auto along = [&](const Tensor& t) { return broadcast_in_dim(t, shape, {a.axis}); };
  const bool weighted = c.inputs.size() == 4;
  double each = 1;
  for (const int64_t axis : others) each *= static_cast<double>(shape[axis]);
  Tensor weight, total;
  if (weighted) {
    weight = broadcast_in_dim(c.in(3), shape, {0});
    // Not by the products alone: they, and their gradients, keep NaN.
    x = select(compare(weight, 0, Comparison::kEQ), 0, x);
    total = reduce_sum(c.in(3), {0}) * (each / static_cast<double>(shape[0]));
    // Where no row counts the statistics are 0: no numbers would reach gradients of other rows.
    total = select(compare(total, 0, Comparison::kEQ), 1, total);
  }
  const auto mean_of = [&](const Tensor& t) {
    return weighted ? reduce_sum(select(compare(weight, 0, Comparison::kEQ), 0, t * weight), others) / total
                    : reduce_sum(t, others) / each;
  };
  const Tensor mean = mean_of(x), centered = x - along(mean), variance = mean_of(centered * centered);
  const Tensor factor = rsqrt(variance + a.epsilon) * convert(c.in(1), dtype);
  const Tensor y = centered * along(factor) + along(convert(c.in(2), dtype));
  return {convert(y, c.in(0).dtype()), mean, variance};
}

}  // namespace

const OpDef op_batch_normalization = {
    .name = "batch_normalization",
    .doc =
        "Training's normalisation from (x, scale, offset) and perhaps row_weight: y = (x - mean) / "
        "sqrt(variance + "
        "epsilon) * scale + offset, with mean and (biased) variance over all axes but feature_index; "
        "results: y, mean, "
        "variance. With row_weight, one number for each index of axis 0, they are weighted means; rows of "
        "weight zero "
        "count for nothing: they are taken as zeros, whatever they hold; without a row that counts both "
        "statistics are "
        "0. Computed in f32, or f64 for f64. "
        "c1: floating-point x. c2: "
        "scale and "
        "offset have one element a feature and x's dtype or f32. c3: feature_index in range. c4: row_weight "
        "has the "
        "statistics' dtype and axis 0's size.",
    .composite = true,
    .attributes = make_attributes<BatchNormalizationAttributes>,
    .infer = infer_batch_normalization,
    .decompose = decompose_batch_normalization,
    .flops_per_output = 8,
};

std::vector<Tensor> batch_normalization(Operand x, Operand scale, Operand offset,
                                        const NormalizationOptions& options, Tensor row_weight) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<BatchNormalizationAttributes>();
  attributes->epsilon = options.epsilon;
  attributes->axis = normalize_axis("batch_normalization", options.axis, x.tensor().rank());
  std::vector<Tensor> inputs{x.tensor(), scale.tensor(), offset.tensor()};
  if (row_weight.defined()) inputs.push_back(std::move(row_weight));
  return emit_all(op_batch_normalization, attributes, inputs);
}

Tensor batch_normalization_inference(Operand x, Operand scale, Operand offset, Operand mean, Operand variance,
                                     const NormalizationOptions& options) {
  CallScope scope(x.at());
  const Shape& shape = x.tensor().shape();
  const DType dtype = normalization_dtype(x.tensor().dtype());
  const int64_t axis = normalize_axis("batch_normalization_inference", options.axis, shape.size());
  const auto along = [&](const Tensor& t) { return broadcast_in_dim(t, shape, {axis}); };
  const auto wide = [&](const Operand& t) { return convert(t.tensor(), dtype); };
  const Tensor factor = rsqrt(wide(variance) + options.epsilon) * wide(scale);
  return convert((wide(x) - along(wide(mean))) * along(factor) + along(wide(offset)), x.tensor().dtype());
}

}  // namespace espalier
