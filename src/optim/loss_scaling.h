// A loss scale and what it learns from updates.
#pragma once

#include <vector>

#include "espalier/optimizers.h"

namespace espalier {

// State is variables ("loss_scale/...", f32[] scale, i64[] updates since it changed, i64[] updates skipped),
// so that checkpoints have it. Copies share it.
class LossScaling {
 public:
  explicit LossScaling(const LossScale& options);

  // What the loss is multiplied by before it is differentiated.
  Tensor scale() const { return scale_.read(); }
  // f32[], 0 where all gradients are finite, else NaN.
  static Tensor overflow(const std::vector<Tensor>& gradients);
  // What takes the scale away, with that of rows where it is defined, and whether to update at all.
  UpdateControl control(const Tensor& overflow, const Tensor& of_rows) const;
  // Counts an update, and doubles or halves the scale where it is time.
  void count(const Tensor& applies);
  double value() const { return scale_.read().item<float>(); }
  const Variable& variable() const { return scale_; }
  std::vector<Variable> variables() const { return {scale_, good_steps_, skipped_}; }

 private:
  LossScale options_;
  Variable scale_, good_steps_, skipped_;
};

}  // namespace espalier
