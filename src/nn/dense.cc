#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

Dense::Dense(DenseOptions options) : Layer(options.name), options_(std::move(options)) {
  if (options_.units < 1)
    throw ValueError("dense.units", cat("units must be positive, got ", options_.units));
  activation(options_.activation);
}

void Dense::build(const TensorType& input) {
  if (input.rank() < 2)
    throw ShapeError("dense.rank", cat("Dense takes [batch, ..., features], got ", input));
  weights_.push_back(
      add_weight("kernel", {input.shape.back(), options_.units}, initializer(options_.kernel_initializer)));
  if (options_.use_bias)
    weights_.push_back(add_weight("bias", {options_.units}, initializer(options_.bias_initializer)));
}

Tensor Dense::call(const Tensor& x) {
  const Tensor product = dot(x, weights_[0]);
  return activation(options_.activation)(options_.use_bias ? product + weights_[1] : product);
}

Tensor Flatten::call(const Tensor& x) {
  return reshape(x, {x.size(0), x.size(0) ? x.type().elements() / x.size(0) : 0});
}

}  // namespace espalier
