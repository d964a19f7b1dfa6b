// Whether all elements of some arrays are finite, as one number of a graph.
#pragma once

#include "espalier/ops.h"

namespace espalier {

// The sum of x - x over all that is added: 0 when all of it is finite, else NaN.
class FiniteSum {
 public:
  void add(const Tensor& x) {
    const Tensor none = convert(reduce_sum(x - x, Dims::range(x.rank())), DType::kF32);
    value_ = value_.defined() ? value_ + none : none;
  }
  // f32[]; 0 where nothing was added.
  Tensor value() const { return value_.defined() ? value_ : full({}, 0); }

 private:
  Tensor value_;
};

}  // namespace espalier
