#include "ops/convolution.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_conv_gradient_input(InferContext& c) { infer_convolution_gradient(c, true); }

// The cotangent, spread by the strides, under the flipped kernel with its features exchanged.
std::vector<Tensor> decompose_conv_gradient_input(const DecomposeContext& c) {
  const auto& a = c.attributes<ConvolutionGradientAttributes>();
  const ConvolutionDimensions& d = a.options.dimensions;
  const int64_t batches = a.options.batch_group_count, groups = a.options.feature_group_count * batches;
  Tensor kernel = c.in(1);
  if (c.in(0).type().elements() == 0 || kernel.type().elements() == 0)
    return {constant_like({a.dtype, a.shape}, 0)};
  const Window window = window_of(a.options, kernel.shape()).transposed(pick(a.shape, d.input_spatial));
  if (groups > 1) kernel = regroup(kernel, d.kernel_output_feature, d.kernel_input_feature, groups);
  ConvolutionOptions o;
  o.window_strides = window.strides;
  o.padding_low = window.low;
  o.padding_high = window.high;
  o.lhs_dilation = window.base_dilations;
  o.rhs_dilation = window.window_dilations;
  o.window_reversal = Dims::filled(window.rank(), 1);
  for (size_t i = 0; i < a.options.window_reversal.size(); ++i)
    o.window_reversal[i] = !a.options.window_reversal[i];
  o.feature_group_count = groups;
  o.dimensions = {d.output_batch,          d.output_feature,       d.output_spatial,
                  d.kernel_output_feature, d.kernel_input_feature, d.kernel_spatial,
                  d.input_batch,           d.input_feature,        d.input_spatial};
  const Tensor out = convolution(c.in(0), kernel, o, a.dtype);
  return {batches > 1 ? regroup(out, d.input_feature, d.input_batch, batches) : out};
}

void gradient_conv_gradient_input(GradientContext& c) {
  const auto& a = c.attributes<ConvolutionGradientAttributes>();
  if (c.wants(0)) c.set(0, convolution(c.cotangent(), c.in(1), a.options, a.dtype));
  if (c.wants(1)) c.set(1, conv_gradient_kernel(c.cotangent(), c.in(0), a.options, c.in(1).shape()));
}

Cost cost_conv_gradient_input(const Attributes* attributes, std::span<const TensorType* const> inputs,
                              std::span<const TensorType> outputs) {
  const TensorType* const operands[] = {&outputs[0], inputs[1]};
  return op_convolution.cost(attributes, std::span(operands), {inputs[0], 1});
}

void sample_conv_gradient_input(DType dtype) {
  const Tensor x = full({1, 1, 1}, 1, dtype);
  conv_gradient_input(x, x, {.dimensions = channels_first(1)}, x.shape());
}

}  // namespace

const OpDef op_conv_gradient_input = {
    .name = "conv_gradient_input",
    .doc =
        "The gradient of convolution(input, kernel) with respect to its input, from (cotangent, kernel); the "
        "attributes are the convolution's and the input's `shape`. c1: the cotangent has the type of the "
        "convolution's result.",
    .composite = true,
    .attributes = make_attributes<ConvolutionGradientAttributes>,
    .infer = infer_conv_gradient_input,
    .decompose = decompose_conv_gradient_input,
    .gradient = gradient_conv_gradient_input,
    .cost = cost_conv_gradient_input,
    .sample = sample_conv_gradient_input,
};

Tensor conv_gradient_input(const Tensor& cotangent, const Tensor& kernel, const ConvolutionOptions& options,
                           const Shape& input) {
  auto attributes = std::make_shared<ConvolutionGradientAttributes>();
  attributes->options = options;
  attributes->dtype = cotangent.dtype();
  attributes->shape = input;
  return emit(op_conv_gradient_input, attributes, {cotangent, kernel});
}

}  // namespace espalier
