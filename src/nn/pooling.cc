#include "espalier/pooling.h"

#include "espalier/array.h"
#include "nn/window.h"

namespace espalier {
namespace {

template <class Options>
void check_options(const char* rule, Options& options) {
  if (options.strides.empty()) options.strides = options.pool_size;
  require_window(rule, options.pool_size, options.strides);
  require_padding(rule, options.padding);
}

template <class Options>
PoolOptions windows(const char* rule, const Options& options, const TensorType& x) {
  require_image(rule, x);
  require_fit(rule, options.padding, options.pool_size, x);
  PoolOptions out{.window = {1, 1, 1, 1},
                  .strides = {1, 1, 1, 1},
                  .padding_low = {0, 0, 0, 0},
                  .padding_high = {0, 0, 0, 0}};
  for (const size_t axis : {1, 2}) {
    out.window[axis] = options.pool_size[axis - 1];
    out.strides[axis] = options.strides[axis - 1];
    const Padding padding =
        window_padding(options.padding, x.shape[axis], out.window[axis], out.strides[axis]);
    out.padding_low[axis] = padding.low;
    out.padding_high[axis] = padding.high;
  }
  return out;
}

}  // namespace

MaxPooling2D::MaxPooling2D(MaxPooling2DOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  check_options("max_pooling2d", options_);
}

Tensor MaxPooling2D::call(const Tensor& x) {
  return max_pool(x, windows("max_pooling2d", options_, x.type()));
}

AveragePooling2D::AveragePooling2D(AveragePooling2DOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  check_options("average_pooling2d", options_);
}

Tensor AveragePooling2D::call(const Tensor& x) {
  if (!is_float(x.dtype())) {
    throw DTypeError("average_pooling2d.dtype", cat("takes floating-point images, got ", x.type()),
                     "convert(x, DType::kF32)");
  }
  return average_pool(x, windows("average_pooling2d", options_, x.type()));
}

GlobalAveragePooling2D::GlobalAveragePooling2D(GlobalAveragePooling2DOptions options, Location at)
    : Layer(options.name, options.dtype, at), keepdims_(options.keepdims) {}

Tensor GlobalAveragePooling2D::call(const Tensor& x) {
  require_image("global_average_pooling2d", x.type());
  return mean(x, {1, 2}, keepdims_);
}

}  // namespace espalier
