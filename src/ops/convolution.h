// Convolution's attributes, which its two gradients, kernels and passes share.
#pragma once

#include "ops/window.h"

namespace espalier {

struct ConvolutionAttributes : Attributes {
  ConvolutionOptions options;
  DType dtype = DType::kF32;
  void fields(FieldVisitor& v) override;
};

// The window over the spatial axes, in their order; `input` and `kernel` are the operands' shapes.
Window window_of(const ConvolutionOptions& options, const Shape& kernel);
// The sizes of `shape` along `axes`.
Shape pick(const Shape& shape, const Dims& axes);

// A convolution's gradient with respect to one operand: the convolution's attributes and that operand's
// shape.
struct ConvolutionGradientAttributes final : ConvolutionAttributes {
  Shape shape;
  void fields(FieldVisitor& v) override {
    ConvolutionAttributes::fields(v);
    v.field("shape", shape);
  }
};

// c1: the other operand and the result make a convolution whose result has the cotangent's type.
void infer_convolution_gradient(InferContext& c, bool of_input);
// Axis `from` is [count, n]: takes the count out of it and puts it in front of axis `to`.
Tensor regroup(const Tensor& x, int64_t from, int64_t to, int64_t count);

// convolution with a result dtype of its own.
Tensor convolution(Operand input, Operand kernel, const ConvolutionOptions& options, DType dtype);
// The gradients of convolution(input, kernel, options) under `cotangent`.
Tensor conv_gradient_input(const Tensor& cotangent, const Tensor& kernel, const ConvolutionOptions& options,
                           const Shape& input);
Tensor conv_gradient_kernel(const Tensor& input, const Tensor& cotangent, const ConvolutionOptions& options,
                            const Shape& kernel);

}  // namespace espalier
