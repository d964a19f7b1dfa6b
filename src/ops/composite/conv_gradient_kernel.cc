#include "ops/convolution.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_conv_gradient_kernel(InferContext& c) { infer_convolution_gradient(c, false); }

// The input under the cotangent as kernel, batch and features exchanged; strides and kernel dilation change
// places, and so do the two kinds of groups.
std::vector<Tensor> decompose_conv_gradient_kernel(const DecomposeContext& c) {
  const auto& a = c.attributes<ConvolutionGradientAttributes>();
  const ConvolutionDimensions& d = a.options.dimensions;
  const Tensor &input = c.in(0), &cotangent = c.in(1);
  if (input.type().elements() == 0 || cotangent.type().elements() == 0)
    return {constant_like({a.dtype, a.shape}, 0)};
  const Window window = window_of(a.options, a.shape);
  ConvolutionOptions o;
  o.window_strides = a.options.rhs_dilation;
  o.lhs_dilation = a.options.lhs_dilation;
  o.rhs_dilation = a.options.window_strides;
  o.padding_low = a.options.padding_low;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t spread = Window::dilated(input.shape()[d.input_spatial[i]], window.base_dilation(i));
    const int64_t windows = Window::dilated(cotangent.shape()[d.output_spatial[i]], window.stride(i));
    o.padding_high.push_back(windows + window.span(i) - 1 - spread - window.pad_low(i));
  }
  o.feature_group_count = a.options.batch_group_count;
  o.batch_group_count = a.options.feature_group_count;
  o.dimensions = {d.input_feature,        d.input_batch,           d.input_spatial,
                  d.output_batch,         d.output_feature,        d.output_spatial,
                  d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial};
  const Tensor out = convolution(input, cotangent, o, a.dtype);
  Dims flipped;
  for (size_t i = 0; i < a.options.window_reversal.size(); ++i) {
    if (a.options.window_reversal[i]) flipped.push_back(d.kernel_spatial[i]);
  }
  return {flipped.empty() ? out : reverse(out, flipped)};
}

void gradient_conv_gradient_kernel(GradientContext& c) {
  const auto& a = c.attributes<ConvolutionGradientAttributes>();
  if (c.wants(0)) c.set(0, conv_gradient_input(c.in(1), c.cotangent(), a.options, c.in(0).shape()));
  if (c.wants(1)) c.set(1, convolution(c.in(0), c.cotangent(), a.options, a.dtype));
}

Cost cost_conv_gradient_kernel(const Attributes* attributes, std::span<const TensorType* const> inputs,
                               std::span<const TensorType> outputs) {
  const TensorType* const operands[] = {inputs[0], &outputs[0]};
  return op_convolution.cost(attributes, std::span(operands), {inputs[1], 1});
}

void sample_conv_gradient_kernel(DType dtype) {
  const Tensor x = full({1, 1, 1}, 1, dtype);
  conv_gradient_kernel(x, x, {.dimensions = channels_first(1)}, x.shape());
}

}  // namespace

const OpDef op_conv_gradient_kernel = {
    .name = "conv_gradient_kernel",
    .doc =
        "The gradient of convolution(input, kernel) with respect to its kernel, from (input, cotangent); the "
        "attributes are the convolution's and the kernel's `shape`. c1: the cotangent has the type of the "
        "convolution's result.",
    .composite = true,
    .attributes = make_attributes<ConvolutionGradientAttributes>,
    .infer = infer_conv_gradient_kernel,
    .decompose = decompose_conv_gradient_kernel,
    .gradient = gradient_conv_gradient_kernel,
    .cost = cost_conv_gradient_kernel,
    .sample = sample_conv_gradient_kernel,
};

Tensor conv_gradient_kernel(const Tensor& input, const Tensor& cotangent, const ConvolutionOptions& options,
                            const Shape& kernel) {
  auto attributes = std::make_shared<ConvolutionGradientAttributes>();
  attributes->options = options;
  attributes->dtype = cotangent.dtype();
  attributes->shape = kernel;
  return emit(op_conv_gradient_kernel, attributes, {input, cotangent});
}

}  // namespace espalier
