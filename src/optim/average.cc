#include "optim/average.h"

namespace espalier {

void average(Optimizer::Rule::Shared& rule, const std::vector<Tensor>& gradients,
             const std::vector<Variable>& variables, const Tensor& apply) {
  const OptimizerOptions& common = rule.common;
  const Tensor step = rule.step.read();
  // As Keras has it: the first average is the variable.
  const Tensor momentum = convert(compare(step, 1, Comparison::kGT), DType::kF32) * common.ema_momentum;
  Tensor overwrites;
  if (common.ema_overwrite_frequency > 0)
    overwrites = compare(remainder(step, common.ema_overwrite_frequency), 0, Comparison::kEQ);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Variable variable = variables[i], kept = rule.slot(kAverage, variable);
    const Tensor m = convert(momentum, compute_dtype_of(variable));
    const Tensor next = convert(wide(kept) * m + wide(variable) * (1 - m), variable.dtype());
    kept.assign(if_applied(apply, kept, next));
    if (overwrites.defined())
      variable.assign(if_applied(apply, variable, select(overwrites, next, variable.read())));
  }
}

void take_averages(Optimizer::Rule::Shared& rule, const std::vector<Variable>& variables) {
  for (Variable variable : variables) {
    const auto known = rule.slot_index.find({variable.state().get(), kAverage});
    if (known != rule.slot_index.end()) variable.assign(rule.slots[known->second].read());
  }
}

}  // namespace espalier
