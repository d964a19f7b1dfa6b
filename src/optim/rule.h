// What an optimizer is made of: a learning rate, a step count, and a rule with slot variables per trained
// variable.
#pragma once

#include <functional>
#include <map>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"

namespace espalier {

// What all optimizers take.
struct CommonOptions {
  template <class Options>
  CommonOptions(const Options& o)
      : learning_rate(o.learning_rate),
        weight_decay(o.weight_decay),
        clipnorm(o.clipnorm),
        global_clipnorm(o.global_clipnorm),
        clipvalue(o.clipvalue),
        ema_momentum(o.ema_momentum),
        loss_scale_factor(o.loss_scale_factor),
        gradient_accumulation_steps(o.gradient_accumulation_steps),
        ema_overwrite_frequency(o.ema_overwrite_frequency),
        use_ema(o.use_ema) {}

  LearningRateSchedule learning_rate;
  double weight_decay, clipnorm, global_clipnorm, clipvalue, ema_momentum, loss_scale_factor;
  int64_t gradient_accumulation_steps, ema_overwrite_frequency;
  bool use_ema;
};

// How the update of a variable counts: its gradient times `scale`, and not at all where `apply` is false.
struct UpdateScale {
  Operand scale = 1, apply = true;
};

struct Optimizer::Rule {
  Rule(std::string name, const CommonOptions& options);
  virtual ~Rule() = default;
  // Assigns the new value of `variable` and of its slots.
  virtual void update(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) = 0;

  // Raises ValueError[<rule>.<option>] unless `holds`.
  void require(bool holds, const char* option, const char* must, double value) const;
  // The slot `name` of `variable`: of its type, every element `initial` at first.
  Variable slot(const std::string& name, const Variable& variable, double initial = 0);
  // The same in another dtype.
  Variable slot(const std::string& name, const Variable& variable, double initial, DType dtype);
  // Forgets the slots that were made after the first `count`.
  void keep_slots(size_t count);

  std::string name;
  CommonOptions common;
  Variable learning_rate;             // f32[]
  Variable step;                      // i64[]: updates made
  std::vector<Variable> accumulated;  // while gradients are accumulated: i64[] calls, f32[] their weight
  std::vector<Variable> slots;
  std::map<std::pair<const VariableState*, std::string>, size_t> slot_index;
  std::vector<Variable> owners;  // keeps the variables that slots belong to alive
  // What a slot that is made later begins with, of this type, as that of a checkpoint; undefined: `initial`.
  using FirstSlot =
      std::function<Tensor(const std::string& slot, const Variable& owner, const TensorType& type)>;
  FirstSlot first_slot;
};

// A rule out of plain ops.
struct PlainRule : Optimizer::Rule {
  using Rule::Rule;
  void update(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) final;
  // What to subtract from `variable`; all in the dtype that it is computed in.
  virtual Tensor change(const Variable& variable, const Tensor& gradient, const Tensor& rate) = 0;
  // Assigns a value of that dtype, rounded once, if the update applies, and gives it back.
  Tensor keep(Variable kept, const Tensor& value) const;

 private:
  Tensor apply_;  // of the update that is made; undefined: true
};

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
