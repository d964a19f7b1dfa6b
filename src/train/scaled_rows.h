// What a loss scale is for the sum over many rows.
#pragma once

#include "eager/traced_graph.h"

namespace espalier {

// Of a step that differentiates the sum over rows, not their mean.
struct ScaledRows {
  // The power of two that makes what is computed in float16 no larger than for the mean. The seed is
  // multiplied by it, and LossScaling::control() takes it away. `rows`, f32[]: how many the whole batch has,
  // or what they weigh where that is more.
  static Tensor of_rows(const Tensor& rows);
  // The same for a program with "seed" and "row_weight" among its arguments, and Replicas::kPlace where the
  // rows are a part of the batch. It adds the result kOfRows, which is equal for all parts.
  static constexpr const char* kOfRows = "equal/scale_of_rows";
  static Rewrite rewrite();
};

}  // namespace espalier
