// What an optimizer is made of: a rule, and what all rules share: a learning rate, a step count, and slot
// variables beside each trained variable.
#pragma once

#include <functional>
#include <map>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/optimizer_rule.h"

namespace espalier {

// What an optimizer of optimizers.h takes as all do.
template <class Given>
OptimizerOptions common_options(const Given& given) {
  return {.learning_rate = given.learning_rate,
          .weight_decay = given.weight_decay,
          .clipnorm = given.clipnorm,
          .global_clipnorm = given.global_clipnorm,
          .clipvalue = given.clipvalue,
          .gradient_accumulation_steps = given.gradient_accumulation_steps,
          .use_ema = given.use_ema,
          .ema_momentum = given.ema_momentum,
          .ema_overwrite_frequency = given.ema_overwrite_frequency,
          .loss_scale_factor = given.loss_scale_factor};
}

// How the update of a variable counts: its gradient times `scale`, and not at all where `apply` is false.
struct UpdateScale {
  Operand scale = 1, apply = true;
};

struct Optimizer::Rule::Shared {
  // Raises what Rule's constructor does.
  Shared(std::string name, const OptimizerOptions& options);

  // The slot `name` of `variable`: every element `initial` at first.
  Variable slot(const std::string& name, const Variable& variable, double initial, const TensorType& type);
  Variable slot(const std::string& name, const Variable& variable, double initial = 0) {
    return slot(name, variable, initial, variable.type());
  }
  // Asks the rule for an update of `variable` on types alone, once. Raises what Rule::slots() and
  // Rule::update() say, and what they raise themselves; then nothing has changed.
  void ask(const Rule& rule, const Variable& variable);
  // Those that the rule has beside `variable`.
  std::vector<Variable> slots_of(const Rule& rule, const Variable& variable);
  // Forgets the slots that were made after the first `count`.
  void keep_slots(size_t count);

  std::string name;
  OptimizerOptions common;
  Variable learning_rate;             // f32[]
  Variable step;                      // i64[]: updates made
  std::vector<Variable> accumulated;  // while gradients are accumulated: i64[] calls, f32[] their weight
  std::vector<Variable> slots;
  std::map<std::pair<const VariableState*, std::string>, size_t> slot_index;
  std::vector<Variable> owners;                    // keeps the variables that slots belong to alive
  std::map<const VariableState*, Variable> asked;  // of ask(), and alive
  // What a slot that is made later begins with, of this type, as that of a checkpoint; undefined: `initial`.
  using FirstSlot =
      std::function<Tensor(const std::string& slot, const Variable& owner, const TensorType& type)>;
  FirstSlot first_slot;
};

// A rule that is one op, which scales gradients and leaves updates out by itself.
struct FusedRule : Optimizer::Rule {
  using Rule::Rule;

 private:
  void assign(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) override = 0;
  // Nobody asks: assign() does it.
  Tensor update(const Step& at, std::vector<Tensor>&) const final { return at.variable; }
};

// Raises ValueError[<name>.<option>] unless `holds`.
void require_option(const std::string& name, bool holds, const char* option, const char* must, double value);

// f32, or f64 for f64.
inline DType compute_dtype_of(const Variable& variable) {
  return variable.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}
// The value of a slot in that dtype.
inline Tensor wide(const Variable& slot) { return convert(slot.read(), compute_dtype_of(slot)); }
// `next` where `apply` holds (undefined: everywhere), else what the variable is.
inline Tensor if_applied(const Tensor& apply, const Variable& variable, const Tensor& next) {
  return apply.defined() ? select(apply, next, variable.read()) : next;
}

}  // namespace espalier
