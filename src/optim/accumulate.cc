#include "optim/accumulate.h"

namespace espalier {

void Pending::count_times(const Tensor& factor) {
  control.scale = control.scale.defined() ? control.scale * factor : factor;
}

void Pending::divide_by_weight() {
  // Without rows sums are 0, and so is what they are divided into.
  if (control.weight.defined()) count_times(1 / maximum(control.weight, 1e-12));
  control.weight = {};
}

void accumulate(Optimizer::Rule::Shared& rule, const std::vector<Variable>& variables, Pending& pending) {
  UpdateControl& control = pending.control;
  Variable &calls = rule.accumulated[0], &weight = rule.accumulated[1];
  const Tensor count = calls.read() + 1;
  const Tensor due = compare(count, rule.common.gradient_accumulation_steps, Comparison::kEQ);
  // Behind an update all begins anew; a call that does not apply changes nothing.
  const auto keep = [&](Variable kept, const Tensor& sum) {
    kept.assign(if_applied(control.apply, kept, select(due, 0, sum)));
    return sum;
  };
  keep(calls, count);
  const Tensor weighs = control.weight.defined() ? control.weight : full({}, 1);
  control.weight = keep(weight, weight.read() + weighs);
  for (size_t i = 0; i < variables.size(); ++i) {
    Tensor& gradient = pending.gradients[i];
    if (!gradient.defined()) continue;
    // In the precision of updates: many small gradients are added.
    const DType dtype = compute_dtype_of(variables[i]);
    const Variable sum = rule.slot(kAccumulator, variables[i], 0, {dtype, variables[i].shape()});
    gradient = convert(gradient, dtype);
    // A call's own: a loss scale may change from one call of an update to the next.
    if (control.scale.defined()) gradient = gradient * convert(control.scale, dtype);
    gradient = keep(sum, sum.read() + gradient);
  }
  control.scale = {};
  pending.divide_by_weight();
  control.apply = control.apply.defined() ? control.apply & due : due;
}

}  // namespace espalier
