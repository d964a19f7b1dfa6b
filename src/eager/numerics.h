// Elements that are no finite numbers.
#pragma once

#include <string>

#include "espalier/tensor.h"

namespace espalier {

struct NotFinite {
  int64_t nan = 0, infinite = 0;
  int64_t first = -1;  // the place of the first of them, row-major

  explicit operator bool() const { return first >= 0; }
};
// REQUIRES: `x` is concrete.
NotFinite count_not_finite(const Tensor& x);
// "2 NaN and 1 infinite of 12 elements (f32[4,3]), the first at [1,0]".
std::string to_string(const NotFinite& found, const TensorType& type);

}  // namespace espalier
