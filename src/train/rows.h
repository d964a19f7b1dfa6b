// What losses and metrics ask of labels and outputs.
#pragma once

#include <string>

#include "espalier/tensor.h"

namespace espalier {

// Both f32[batch, ...], of one shape.
struct LabelsAndOutputs {
  Tensor labels, outputs;
};
// Labels of any dtype and floating-point outputs. Raises ShapeError[<name>.labels] for other shapes,
// DTypeError[<name>.outputs].
LabelsAndOutputs rows_of_one_shape(const std::string& name, const Tensor& labels, const Tensor& outputs);

// Raises ShapeError[<name>.labels] unless labels have the shape of the outputs f[batch, ..., classes] without
// the last axis, DTypeError[<name>.labels] unless they are integers, DTypeError[<name>.outputs].
void require_class_numbers(const std::string& name, const Tensor& labels, const Tensor& outputs);

// [batch, ...] to [batch]: the mean over the other axes.
Tensor row_mean(const Tensor& values);

// `values` [batch, ...] with zeros in the rows of weight 0, which are not there: selected, since a product
// would keep NaN, in the gradient too. REQUIRES: weights are of those rows.
Tensor counted_rows(const Tensor& values, const Tensor& row_weight);

}  // namespace espalier
