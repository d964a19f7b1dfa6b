#include "espalier/ops.h"
#include "nn/window.h"

namespace espalier {

Conv2D::Conv2D(Conv2DOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (options_.filters < 1)
    throw ValueError("conv2d.filters", cat("filters must be positive, got ", options_.filters));
  require_window("conv2d", options_.kernel_size, options_.strides);
  require_padding("conv2d", options_.padding);
  activation(options_.activation);
}

void Conv2D::build(const TensorType& input) {
  require_image("conv2d", input);
  const Dims& size = options_.kernel_size;
  add_weight("kernel", {size[0], size[1], input.shape[3], options_.filters}, options_.kernel_initializer);
  regularize("kernel", options_.kernel_regularizer);
  if (!options_.use_bias) return;
  add_weight("bias", {options_.filters}, options_.bias_initializer);
  regularize("bias", options_.bias_regularizer);
}

Tensor Conv2D::call(const Tensor& x) {
  require_image("conv2d", x.type());
  if (!is_float(x.dtype())) {
    throw DTypeError("conv2d.dtype", cat("Conv2D takes floating-point pixels, got ", x.type()),
                     "convert(x, DType::kF32) / 255");
  }
  require_fit("conv2d", options_.padding, options_.kernel_size, x.type());
  ConvolutionOptions options{.window_strides = options_.strides, .dimensions = channels_last(2)};
  for (const size_t axis : {0, 1}) {
    const Padding padding = window_padding(options_.padding, x.shape()[axis + 1], options_.kernel_size[axis],
                                           options_.strides[axis]);
    options.padding_low.push_back(padding.low);
    options.padding_high.push_back(padding.high);
  }
  // A cast of the bias stands before the product, so that a plan may add it to parts of that.
  const Tensor bias = options_.use_bias ? weight("bias").read() : Tensor();
  const Tensor y = convolution(x, weight("kernel"), options);
  return activation(options_.activation)(options_.use_bias ? y + bias : y);
}

}  // namespace espalier
