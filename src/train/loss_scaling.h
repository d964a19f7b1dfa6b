// A loss scale and what it learns from steps.
#pragma once

#include <vector>

#include "eager/traced_graph.h"
#include "espalier/model.h"
#include "espalier/optimizers.h"

namespace espalier {

// State is variables ("loss_scale/...", f32[] scale, i64[] steps since it changed, i64[] steps skipped), so
// that checkpoints have it.
class LossScaling {
 public:
  explicit LossScaling(const LossScale& options);

  // What the loss is multiplied by before it is differentiated.
  Tensor scale() const { return scale_.read(); }
  // In a step: f32[], 0 where all gradients are finite, else NaN.
  static Tensor overflow(const std::vector<Tensor>& gradients);
  // In a step: what takes the scale away, with that of rows where it is defined, and whether to update at
  // all.
  UpdateControl control(const Tensor& overflow, const Tensor& of_rows) const;
  // Of a step that differentiates the sum over rows, not their mean: the power of two that makes what is
  // computed in float16 no larger than for the mean. The seed is multiplied by it, and control() takes it
  // away. `rows`, f32[]: how many the whole batch has, or what they weigh where that is more.
  static Tensor of_rows(const Tensor& rows);
  // The same for a program with "seed" and "row_weight" among its arguments, and Replicas::kPlace where the
  // rows are a part of the batch. It adds the result kOfRows, which is equal for all parts.
  static constexpr const char* kOfRows = "equal/scale_of_rows";
  static Rewrite scale_rows();
  // In a step: counts it, and doubles or halves the scale where it is time.
  void count(const Tensor& applies);
  double value() const { return scale_.read().item<float>(); }
  std::vector<Variable> variables() const { return {scale_, good_steps_, skipped_}; }

 private:
  LossScale options_;
  Variable scale_, good_steps_, skipped_;
};

}  // namespace espalier
