#include "optim/rule.h"

#include <algorithm>
#include <cmath>

#include "base/shortest.h"
#include "optim/accumulate.h"
#include "optim/average.h"
#include "optim/clip.h"

namespace espalier {
namespace {

// What the rate is before the first update.
Tensor first_rate(const LearningRateSchedule& schedule) {
  const EagerScope eager;
  return schedule(0);
}

// Names are parts of paths, by which state is saved.
bool is_name(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

std::string checked_name(std::string name) {
  if (!is_name(name))
    throw ValueError("optimizer.name", cat("the name of an optimizer consists of letters, digits, \"_\", "
                                           "\"-\" and \".\", got \"",
                                           name, "\""));
  return name;
}

std::vector<Optimizer::Rule::Slot> checked_slots(const Optimizer::Rule& rule, const Variable& variable) {
  std::vector<Optimizer::Rule::Slot> out = rule.slots(variable);
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string& slot = out[i].name;
    const auto refuse = [&](const char* why) {
      throw ValueError("optimizer.slots",
                       cat("slot ", i, " of ", rule.name(), " is called \"", slot, "\", ", why));
    };
    if (!is_name(slot)) refuse("which is no name of letters, digits, \"_\", \"-\" and \".\"");
    if (slot == kAverage || slot == kAccumulator) refuse("as what every optimizer keeps");
    const auto same = [&](const Optimizer::Rule::Slot& other) { return other.name == slot; };
    if (std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), same))
      refuse("as another one of it");
  }
  return out;
}

TensorType type_of(const Optimizer::Rule::Slot& slot, const Variable& variable) {
  return {variable.dtype(), slot.shape.value_or(variable.shape())};
}

Tensor updated(const Optimizer::Rule& rule, const Optimizer::Rule::Step& step, std::vector<Tensor>& slots) {
  const size_t count = slots.size();
  Tensor out = rule.update(step, slots);
  if (slots.size() != count)
    throw ValueError("optimizer.update",
                     cat(rule.name(), " has ", counted(count, "slot"), ", and left ", slots.size()));
  return out;
}

// What a rule gives for something of that type.
void require_type(const Optimizer::Rule& rule, const std::string& what, const Tensor& got,
                  const TensorType& wanted) {
  if (!got.defined()) throw ValueError("optimizer.update", cat(rule.name(), " gives no new value of ", what));
  if (got.shape() != wanted.shape)
    throw ShapeError("optimizer.update", cat(rule.name(), " gives ", got.type(), " as the new value of ",
                                             what, ", which is ", wanted));
  if (!is_float(got.dtype()))
    throw DTypeError("optimizer.update", cat(rule.name(), " gives ", got.type(), " as the new value of ",
                                             what, ", which is a floating-point number"));
}

// An update of `variable` on types alone.
void require_update(const Optimizer::Rule& rule, const Variable& variable) {
  const std::vector<Optimizer::Rule::Slot> slots = checked_slots(rule, variable);
  const DType dtype = compute_dtype_of(variable);
  Trace trace("update", false);
  const SinkScope scope(trace.builder());
  const auto argument = [&](const std::string& name, const TensorType& type) {
    return trace.builder().argument(name, type);
  };
  const TensorType own{dtype, variable.shape()};
  const Optimizer::Rule::Step step{.variable = argument("variable", own),
                                   .gradient = argument("gradient", own),
                                   .learning_rate = argument("learning_rate", {dtype, {}}),
                                   .number = argument("number", {dtype, {}})};
  std::vector<Tensor> values;
  for (const Optimizer::Rule::Slot& slot : slots)
    values.push_back(argument(slot.name, {dtype, type_of(slot, variable).shape}));
  const Tensor next = updated(rule, step, values);
  const std::string of = cat("\"", variable.path(), "\"");
  require_type(rule, of, next, own);
  for (size_t i = 0; i < slots.size(); ++i)
    require_type(rule, cat("slot \"", slots[i].name, "\" of ", of), values[i],
                 {dtype, type_of(slots[i], variable).shape});
}

}  // namespace

void require_option(const std::string& name, bool holds, const char* option, const char* must, double value) {
  if (!holds) throw ValueError(cat(name, ".", option), cat(option, " ", must, ", got ", shortest(value)));
}

Optimizer::Rule::Shared::Shared(std::string rule_name, const OptimizerOptions& options)
    : name(checked_name(std::move(rule_name))),
      common(options),
      learning_rate(first_rate(options.learning_rate), {.name = name + "/learning_rate", .trainable = false}),
      step(full({}, 0, DType::kI64), {.name = name + "/step", .trainable = false}) {
  if (const std::optional<double> rate = common.learning_rate.constant(); rate && !(*rate >= 0))
    throw ValueError("optimizer.learning_rate",
                     cat("learning_rate must not be negative, got ", shortest(*rate)));
  const auto require = [&](bool holds, const char* option, const char* must, double value) {
    require_option(name, holds, option, must, value);
  };
  require(common.weight_decay >= 0, "weight_decay", "must not be negative", common.weight_decay);
  require_bounds(name, common);
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

Variable Optimizer::Rule::Shared::slot(const std::string& slot_name, const Variable& variable, double initial,
                                       const TensorType& type) {
  const std::pair key(variable.state().get(), slot_name);
  if (const auto known = slot_index.find(key); known != slot_index.end()) return slots[known->second];
  const EagerScope eager;
  Tensor first = first_slot ? first_slot(slot_name, variable, type) : Tensor();
  if (!first.defined()) first = full(type.shape, initial, type.dtype);
  slots.emplace_back(
      first, VariableOptions{.name = cat(name, "/", slot_name, "/", variable.path()), .trainable = false});
  owners.push_back(variable);
  slot_index.emplace(key, slots.size() - 1);
  return slots.back();
}

void Optimizer::Rule::Shared::ask(const Rule& rule, const Variable& variable) {
  if (asked.contains(variable.state().get())) return;
  if (!dynamic_cast<const FusedRule*>(&rule)) require_update(rule, variable);
  asked.emplace(variable.state().get(), variable);
}

std::vector<Variable> Optimizer::Rule::Shared::slots_of(const Rule& rule, const Variable& variable) {
  std::vector<Variable> out;
  for (const Slot& one : rule.slots(variable))
    out.push_back(slot(one.name, variable, one.initial, type_of(one, variable)));
  return out;
}

void Optimizer::Rule::Shared::keep_slots(size_t count) {
  asked.clear();
  if (slots.size() <= count) return;
  std::erase_if(slot_index, [count](const auto& slot) { return slot.second >= count; });
  slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(count), slots.end());
  owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(count), owners.end());
}

Optimizer::Rule::Rule(std::string name, const OptimizerOptions& options, Location at) {
  const CallScope scope(at);
  shared_ = std::make_unique<Shared>(std::move(name), options);
}

Optimizer::Rule::~Rule() = default;

std::vector<Optimizer::Rule::Slot> Optimizer::Rule::slots(const Variable&) const { return {}; }

const std::string& Optimizer::Rule::name() const { return shared_->name; }

void Optimizer::Rule::require(bool holds, const char* option, const char* must, double value) const {
  require_option(name(), holds, option, must, value);
}

void Optimizer::Rule::assign(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) {
  const Tensor apply = counts.apply.is_scalar() ? Tensor() : counts.apply.tensor();
  const Operand& scale = counts.scale;
  const DType dtype = compute_dtype_of(variable);
  const Tensor rate = convert(shared_->learning_rate, dtype);
  const Tensor g = convert(gradient, dtype) * (scale.is_scalar() ? scale : convert(scale, dtype));
  Tensor w = wide(variable);
  if (shared_->common.weight_decay != 0) w -= w * (rate * shared_->common.weight_decay);
  std::vector<Variable> kept = shared_->slots_of(*this, variable);
  std::vector<Tensor> values;
  for (const Variable& slot : kept) values.push_back(wide(slot));
  const Tensor next = updated(
      *this,
      {.variable = w, .gradient = g, .learning_rate = rate, .number = convert(shared_->step.read(), dtype)},
      values);
  const auto keep = [&](Variable of, const Tensor& value) {
    of.assign(if_applied(apply, of, convert(value, of.dtype())));
  };
  for (size_t i = 0; i < kept.size(); ++i) keep(kept[i], values[i]);
  keep(variable, next);
}

}  // namespace espalier
