#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

Dense::Dense(DenseOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (options_.units < 1)
    throw ValueError("dense.units", cat("units must be positive, got ", options_.units));
  activation(options_.activation);
}

namespace {

void require_rows(const TensorType& x) {
  if (x.rank() < 2) {
    throw ShapeError("dense.rank", cat("Dense takes [batch, ..., features], got ", x),
                     "expand_dims(x, 0) makes a batch of one example, expand_dims(x, 1) one feature of each");
  }
}

void require_features(const TensorType& x, const TensorType& kernel) {
  if (!is_float(x.dtype)) {
    throw DTypeError("dense.dtype", cat("Dense takes floating-point features, got ", x),
                     "convert(x, DType::kF32)");
  }
  if (x.shape.back() != kernel.shape[0])
    throw ShapeError("dense.features", cat("Dense was built for ", kernel.shape[0], " features, got ", x));
}

}  // namespace

void Dense::build(const TensorType& input) {
  require_rows(input);
  add_weight("kernel", {input.shape.back(), options_.units}, options_.kernel_initializer);
  regularize("kernel", options_.kernel_regularizer);
  if (!options_.use_bias) return;
  add_weight("bias", {options_.units}, options_.bias_initializer);
  regularize("bias", options_.bias_regularizer);
}

Tensor Dense::call(const Tensor& x) {
  require_rows(x.type());
  const Variable kernel = weight("kernel");
  require_features(x.type(), kernel.type());
  // A cast of the bias stands before the product, so that a plan may add it to parts of that.
  const Tensor bias = options_.use_bias ? weight("bias").read() : Tensor();
  const Tensor product = dot(x, kernel);
  return activation(options_.activation)(options_.use_bias ? product + bias : product);
}

}  // namespace espalier
