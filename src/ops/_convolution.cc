#include "ops/convolution.h"
#include "ops/registry.h"

namespace espalier {

void ConvolutionAttributes::fields(FieldVisitor& v) {
  ConvolutionDimensions& d = options.dimensions;
  v.field("window_strides", options.window_strides);
  visit_padding(v, options.padding_low, options.padding_high);
  v.field("lhs_dilation", options.lhs_dilation);
  v.field("rhs_dilation", options.rhs_dilation);
  v.field("window_reversal", options.window_reversal);
  v.field("dimension_numbers.input_batch_dimension", d.input_batch);
  v.field("dimension_numbers.input_feature_dimension", d.input_feature);
  v.field("dimension_numbers.input_spatial_dimensions", d.input_spatial);
  v.field("dimension_numbers.kernel_input_feature_dimension", d.kernel_input_feature);
  v.field("dimension_numbers.kernel_output_feature_dimension", d.kernel_output_feature);
  v.field("dimension_numbers.kernel_spatial_dimensions", d.kernel_spatial);
  v.field("dimension_numbers.output_batch_dimension", d.output_batch);
  v.field("dimension_numbers.output_feature_dimension", d.output_feature);
  v.field("dimension_numbers.output_spatial_dimensions", d.output_spatial);
  v.field("feature_group_count", options.feature_group_count);
  v.field("batch_group_count", options.batch_group_count);
  v.field("dtype", dtype);
}

Shape pick(const Shape& shape, const Dims& axes) {
  Shape out;
  for (const int64_t axis : axes) out.push_back(shape[axis]);
  return out;
}

Window window_of(const ConvolutionOptions& o, const Shape& kernel) {
  return {pick(kernel, o.dimensions.kernel_spatial),
          o.window_strides,
          o.lhs_dilation,
          o.rhs_dilation,
          o.padding_low,
          o.padding_high};
}

ConvolutionDimensions channels_last(size_t spatial_rank) {
  const auto n = static_cast<int64_t>(spatial_rank);
  Dims kernel = Dims::range(spatial_rank), spatial;
  for (int64_t i = 0; i < n; ++i) spatial.push_back(i + 1);
  return {0, n + 1, spatial, n, n + 1, kernel, 0, n + 1, spatial};
}

ConvolutionDimensions channels_first(size_t spatial_rank) {
  Dims spatial;
  for (size_t i = 0; i < spatial_rank; ++i) spatial.push_back(static_cast<int64_t>(i) + 2);
  return {0, 1, spatial, 1, 0, spatial, 0, 1, spatial};
}

void infer_convolution_gradient(InferContext& c, bool of_input) {
  c.require_inputs(2);
  const auto& a = c.attributes<ConvolutionGradientAttributes>();
  const TensorType wanted{c.in(0).dtype, a.shape}, &cotangent = c.in(of_input ? 0 : 1);
  const TensorType* const operands[] = {of_input ? &wanted : &c.in(0), of_input ? &c.in(1) : &wanted};
  const TensorType expected = infer_types(op_convolution, &a, operands, {})[0];
  c.require(cotangent == expected, "c1", "the cotangent must have the convolution's type: ", cotangent,
            " and ", expected);
  c.result(wanted);
}

Tensor regroup(const Tensor& x, int64_t from, int64_t to, int64_t count) {
  Shape split = x.shape(), merged = x.shape();
  split[from] /= count;
  split.insert(from, count);
  merged[from] /= count;
  merged[to] *= count;
  Dims permutation = Dims::range(split.size());
  permutation.erase(from);
  permutation.insert(to, from);
  return reshape(transpose(reshape(x, split), permutation), merged);
}

}  // namespace espalier
