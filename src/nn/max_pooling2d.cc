#include "espalier/ops.h"
#include "nn/window.h"

namespace espalier {

MaxPooling2D::MaxPooling2D(MaxPooling2DOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (options_.strides.empty()) options_.strides = options_.pool_size;
  require_window("max_pooling2d", options_.pool_size, options_.strides);
  require_padding("max_pooling2d", options_.padding);
}

Tensor MaxPooling2D::call(const Tensor& x) {
  require_image("max_pooling2d", x.type());
  require_fit("max_pooling2d", options_.padding, options_.pool_size, x.type());
  PoolOptions options{.window = {1, 1, 1, 1},
                      .strides = {1, 1, 1, 1},
                      .padding_low = {0, 0, 0, 0},
                      .padding_high = {0, 0, 0, 0}};
  for (const size_t axis : {1, 2}) {
    options.window[axis] = options_.pool_size[axis - 1];
    options.strides[axis] = options_.strides[axis - 1];
    const Padding padding =
        window_padding(options_.padding, x.shape()[axis], options.window[axis], options.strides[axis]);
    options.padding_low[axis] = padding.low;
    options.padding_high[axis] = padding.high;
  }
  return max_pool(x, options);
}

}  // namespace espalier
