#include "espalier/ops.h"
#include "nn/window.h"

namespace espalier {

Conv2D::Conv2D(Conv2DOptions options) : Layer(options.name), options_(std::move(options)) {
  if (options_.filters < 1)
    throw ValueError("conv2d.filters", cat("filters must be positive, got ", options_.filters));
  require_window("conv2d", options_.kernel_size, options_.strides);
  window_padding("conv2d", options_.padding, 1, 1, 1);
  activation(options_.activation);
}

void Conv2D::build(const TensorType& input) {
  require_image("conv2d", input);
  const Dims& size = options_.kernel_size;
  weights_.push_back(add_weight("kernel", {size[0], size[1], input.shape[3], options_.filters},
                                initializer(options_.kernel_initializer)));
  if (options_.use_bias) weights_.push_back(add_weight("bias", {options_.filters}, initializer("zeros")));
}

Tensor Conv2D::call(const Tensor& x) {
  ConvolutionOptions options{.window_strides = options_.strides, .dimensions = channels_last(2)};
  for (const size_t axis : {0, 1}) {
    const Padding padding = window_padding("conv2d", options_.padding, x.shape()[axis + 1],
                                           options_.kernel_size[axis], options_.strides[axis]);
    options.padding_low.push_back(padding.low);
    options.padding_high.push_back(padding.high);
  }
  const Tensor y = convolution(x, weights_[0], options);
  return activation(options_.activation)(options_.use_bias ? y + weights_[1] : y);
}

}  // namespace espalier
