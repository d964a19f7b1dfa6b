#include <algorithm>
#include <iterator>

#include "ir/sink.h"
#include "optim/accumulate.h"
#include "optim/average.h"
#include "optim/clip.h"
#include "optim/loss_scaling.h"
#include "optim/rule.h"

namespace espalier {
namespace {

void check_gradient(const Variable& variable, const Tensor& gradient) {
  const std::string both =
      cat("variable \"", variable.path(), "\" is ", variable.type(), ", its gradient ", gradient.type());
  if (gradient.shape() != variable.shape()) throw ShapeError("optimizer.gradient", both);
  if (gradient.dtype() != variable.dtype() || !is_float(variable.dtype()))
    throw DTypeError("optimizer.gradient", cat(both, ": both must be of one floating-point dtype"));
  if (!gradient.concrete() && &Sink::current() == &eager_sink()) {
    throw StateError("optimizer.gradient",
                     cat("the gradient of \"", variable.path(), "\" belongs to a trace that has ended"),
                     "call apply inside of the traced function");
  }
}

void require_scaling(const Optimizer::Rule& rule, const LossScaling* scaling) {
  if (!scaling)
    throw StateError("optimizer.loss_scale", cat(rule.name(), " has no loss scale"),
                     "make it LossScaleOptimizer{.inner_optimizer = ...}");
}

void check_control(const char* what, const Tensor& given, const TensorType& wanted) {
  if (given.defined() && given.type() != wanted)
    throw DTypeError("optimizer.control", cat(what, " must be ", wanted, ", got ", given.type()));
}

}  // namespace

Optimizer::Optimizer(const LossScaleOptimizer& options, Location at) : rule_(options.inner_optimizer.rule_) {
  const CallScope scope(at);
  if (options.inner_optimizer.scaling_)
    throw ValueError("loss_scale.two", "the inner optimizer is a LossScaleOptimizer itself", "one is enough");
  scaling_ = std::make_shared<LossScaling>(
      LossScale{.initial = options.initial_scale, .growth_steps = options.dynamic_growth_steps});
}

Optimizer::Optimizer(std::shared_ptr<Rule> rule, Location at) : rule_(std::move(rule)) {
  const CallScope scope(at);
  if (!rule_) throw ValueError("optimizer.rule", "an optimizer needs a rule, got none");
}

void Optimizer::apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                      Location at) {
  apply(gradients, variables, UpdateControl(), at);
}

void Optimizer::apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                      const UpdateControl& control, Location at) {
  const CallScope scope(at);
  if (gradients.size() != variables.size()) {
    throw ValueError("optimizer.count", cat("needs one gradient per variable: ", gradients.size(),
                                            " gradients, ", variables.size(), " variables"));
  }
  if (std::ranges::none_of(gradients, &Tensor::defined)) {
    throw ValueError("optimizer.gradients",
                     variables.empty() ? "there are no variables: a layer has them after its first call"
                                       : cat("none of ", variables.size(),
                                             " variables has a gradient: the loss does "
                                             "not depend on them, or not smoothly"));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].defined()) check_gradient(variables[i], gradients[i]);
  }
  Rule::Shared& shared = rule_->shared();
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].defined()) shared.ask(*rule_, variables[i]);
  }
  check_control("scale", control.scale, {DType::kF32, {}});
  check_control("weight", control.weight, {DType::kF32, {}});
  check_control("apply", control.apply, {DType::kBool, {}});
  Pending pending{gradients, control};
  Tensor finite;
  if (scaling_) {
    const UpdateControl scaled = scaling_->control(LossScaling::overflow(gradients), {});
    finite = scaled.apply;
    pending.count_times(scaled.scale);
    Tensor& applies = pending.control.apply;
    applies = applies.defined() ? applies & finite : finite;
  }
  if (shared.common.loss_scale_factor != 1)
    pending.count_times(Tensor::scalar(static_cast<float>(1 / shared.common.loss_scale_factor)));
  if (shared.common.gradient_accumulation_steps > 1) {
    accumulate(shared, variables, pending);
  } else {
    pending.divide_by_weight();
  }
  const Tensor& applies = pending.control.apply;
  Variable &rate = shared.learning_rate, &step = shared.step;
  if (!shared.common.learning_rate.constant())
    rate.assign(if_applied(applies, rate, shared.common.learning_rate(step.read())));
  if (applies.defined())
    step.assign(step.read() + convert(applies, DType::kI64));
  else
    step.assign_add(1);
  const Clipping clipping(shared.common, std::move(pending.gradients), pending.control.scale);
  const Operand apply = applies.defined() ? Operand(applies) : Operand(true);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].defined()) rule_->assign(variables[i], clipping.gradient(i), {clipping.scale(i), apply});
  }
  if (shared.common.use_ema) average(shared, gradients, variables, applies);
  if (scaling_) scaling_->count(finite);
}

Tensor Optimizer::scale_loss(const Tensor& loss) const {
  const double factor = rule_->shared().common.loss_scale_factor;
  const Tensor scaled = factor == 1 ? loss : loss * factor;
  return scaling_ ? scaled * convert(scaling_->scale(), loss.dtype()) : scaled;
}

int64_t Optimizer::gradient_accumulation_steps() const {
  return rule_->shared().common.gradient_accumulation_steps;
}

void Optimizer::finalize_variables(const std::vector<Variable>& variables) {
  if (rule_->shared().common.use_ema) take_averages(rule_->shared(), variables);
}

Variable Optimizer::learning_rate() const { return rule_->shared().learning_rate; }

Variable Optimizer::dynamic_scale() const {
  require_scaling(*rule_, scaling_.get());
  return scaling_->variable();
}

Optimizer Optimizer::inner_optimizer() const {
  require_scaling(*rule_, scaling_.get());
  return Optimizer(rule_);
}

std::vector<Variable> Optimizer::variables() const {
  const Rule::Shared& shared = rule_->shared();
  std::vector<Variable> out{shared.learning_rate, shared.step};
  out.insert(out.end(), shared.accumulated.begin(), shared.accumulated.end());
  out.insert(out.end(), shared.slots.begin(), shared.slots.end());
  if (scaling_) std::ranges::copy(scaling_->variables(), std::back_inserter(out));
  return out;
}

}  // namespace espalier
