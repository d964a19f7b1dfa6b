#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/shortest.h"
#include "ir/sink.h"
#include "optim/accumulate.h"
#include "optim/average.h"
#include "optim/clip.h"
#include "optim/loss_scaling.h"
#include "optim/rule.h"

namespace espalier {

namespace {

// What the rate is before the first update.
Tensor first_rate(const LearningRateSchedule& schedule) {
  const EagerScope eager;
  return schedule(0);
}

}  // namespace

Optimizer::Rule::Rule(std::string rule_name, const CommonOptions& options)
    : name(std::move(rule_name)),
      common(options),
      learning_rate(first_rate(options.learning_rate), {.name = name + "/learning_rate", .trainable = false}),
      step(full({}, 0, DType::kI64), {.name = name + "/step", .trainable = false}) {
  if (const std::optional<double> rate = common.learning_rate.constant(); rate && !(*rate >= 0))
    throw ValueError("optimizer.learning_rate",
                     cat("learning_rate must not be negative, got ", shortest(*rate)));
  require(common.weight_decay >= 0, "weight_decay", "must not be negative", common.weight_decay);
  require_bounds(*this);
  const auto whole = [](int64_t value) { return static_cast<double>(value); };
  require(common.gradient_accumulation_steps >= 1, "gradient_accumulation_steps", "must be at least 1",
          whole(common.gradient_accumulation_steps));
  require(common.ema_momentum >= 0 && common.ema_momentum <= 1, "ema_momentum", "must lie in [0, 1]",
          common.ema_momentum);
  require(common.ema_overwrite_frequency >= 0, "ema_overwrite_frequency", "must not be negative",
          whole(common.ema_overwrite_frequency));
  require(common.loss_scale_factor > 0 && std::isfinite(common.loss_scale_factor), "loss_scale_factor",
          "must be positive and finite", common.loss_scale_factor);
  if (common.gradient_accumulation_steps > 1) {
    const auto state = [&](const char* what, DType dtype) {
      accumulated.emplace_back(full({}, 0, dtype),
                               VariableOptions{.name = cat(name, "/", what), .trainable = false});
    };
    state("accumulated_calls", DType::kI64);
    state("accumulated_weight", DType::kF32);
  }
}

void Optimizer::Rule::require(bool holds, const char* option, const char* must, double value) const {
  if (!holds) throw ValueError(cat(name, ".", option), cat(option, " ", must, ", got ", shortest(value)));
}

Variable Optimizer::Rule::slot(const std::string& slot_name, const Variable& variable, double initial) {
  return slot(slot_name, variable, initial, variable.dtype());
}

Variable Optimizer::Rule::slot(const std::string& slot_name, const Variable& variable, double initial,
                               DType dtype) {
  const std::pair key(variable.state().get(), slot_name);
  if (const auto known = slot_index.find(key); known != slot_index.end()) return slots[known->second];
  const EagerScope eager;
  const TensorType type{dtype, variable.shape()};
  Tensor first = first_slot ? first_slot(slot_name, variable, type) : Tensor();
  if (!first.defined()) first = full(type.shape, initial, dtype);
  slots.emplace_back(
      first, VariableOptions{.name = cat(name, "/", slot_name, "/", variable.path()), .trainable = false});
  owners.push_back(variable);
  slot_index.emplace(key, slots.size() - 1);
  return slots.back();
}

void Optimizer::Rule::keep_slots(size_t count) {
  if (slots.size() <= count) return;
  std::erase_if(slot_index, [count](const auto& slot) { return slot.second >= count; });
  slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(count), slots.end());
  owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(count), owners.end());
}

Tensor PlainRule::keep(Variable kept, const Tensor& value) const {
  kept.assign(if_applied(apply_, kept, convert(value, kept.dtype())));
  return value;
}

void PlainRule::update(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) {
  apply_ = counts.apply.is_scalar() ? Tensor() : counts.apply.tensor();
  const Operand& scale = counts.scale;
  const DType dtype = compute_dtype_of(variable);
  const Tensor rate = convert(learning_rate, dtype);
  const Tensor g = convert(gradient, dtype) * (scale.is_scalar() ? scale : convert(scale, dtype));
  Tensor w = wide(variable);
  if (common.weight_decay != 0) w -= w * (rate * common.weight_decay);
  keep(variable, w - change(variable, g, rate));
  apply_ = {};
}

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
    throw StateError("optimizer.loss_scale", cat(rule.name, " has no loss scale"),
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
  if (rule_->common.loss_scale_factor != 1)
    pending.count_times(Tensor::scalar(static_cast<float>(1 / rule_->common.loss_scale_factor)));
  if (rule_->common.gradient_accumulation_steps > 1) {
    accumulate(*rule_, variables, pending);
  } else {
    pending.divide_by_weight();
  }
  const Tensor& applies = pending.control.apply;
  Variable &rate = rule_->learning_rate, &step = rule_->step;
  if (!rule_->common.learning_rate.constant())
    rate.assign(if_applied(applies, rate, rule_->common.learning_rate(step.read())));
  if (applies.defined())
    step.assign(step.read() + convert(applies, DType::kI64));
  else
    step.assign_add(1);
  const Clipping clipping(rule_->common, std::move(pending.gradients), pending.control.scale);
  const Operand apply = applies.defined() ? Operand(applies) : Operand(true);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].defined()) rule_->update(variables[i], clipping.gradient(i), {clipping.scale(i), apply});
  }
  if (rule_->common.use_ema) average(*rule_, gradients, variables, applies);
  if (scaling_) scaling_->count(finite);
}

Tensor Optimizer::scale_loss(const Tensor& loss) const {
  const double factor = rule_->common.loss_scale_factor;
  const Tensor scaled = factor == 1 ? loss : loss * factor;
  return scaling_ ? scaled * convert(scaling_->scale(), loss.dtype()) : scaled;
}

int64_t Optimizer::gradient_accumulation_steps() const { return rule_->common.gradient_accumulation_steps; }

void Optimizer::finalize_variables(const std::vector<Variable>& variables) {
  if (rule_->common.use_ema) take_averages(*rule_, variables);
}

Variable Optimizer::learning_rate() const { return rule_->learning_rate; }

Variable Optimizer::dynamic_scale() const {
  require_scaling(*rule_, scaling_.get());
  return scaling_->variable();
}

Optimizer Optimizer::inner_optimizer() const {
  require_scaling(*rule_, scaling_.get());
  return Optimizer(rule_);
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> out{rule_->learning_rate, rule_->step};
  out.insert(out.end(), rule_->accumulated.begin(), rule_->accumulated.end());
  out.insert(out.end(), rule_->slots.begin(), rule_->slots.end());
  if (scaling_) std::ranges::copy(scaling_->variables(), std::back_inserter(out));
  return out;
}

}  // namespace espalier
