// Tensors as text for people.
#pragma once

#include <iosfwd>
#include <string>

#include "espalier/tensor.h"

namespace espalier {

// Dtype and shape, then the elements in aligned columns:
//
//     f32[2,3]
//     [[1.0, -2.5, 3.0],
//      [4.0, 0.25, 1.0]]
//
// All floats of one tensor have the same number of digits after the point: as many as any of them needs, one
// at least and four at most; numbers beyond 1e8 or below 1e-4 turn all of them into d.dddde+00. More than
// 1000 elements are summarised: the first and last three of each axis and "...". Rows wrap at 80 columns. A
// symbolic tensor prints as "f32[2,3] (symbolic)".
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
// "[2,3]", "f32" and "f32[2,3]".
std::ostream& operator<<(std::ostream& out, const Dims& dims);
std::ostream& operator<<(std::ostream& out, DType dtype);
std::ostream& operator<<(std::ostream& out, const TensorType& type);

}  // namespace espalier
