// Optimizers of one's own: a rule says how one variable is updated, and all else is as for Adam.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/ops.h"
#include "espalier/optimizers.h"

namespace espalier {

// What all optimizers take, as optimizers.h says it.
struct OptimizerOptions {
  LearningRateSchedule learning_rate = 1e-3;
  double weight_decay = 0;
  double clipnorm = 0;
  double global_clipnorm = 0;
  double clipvalue = 0;
  int64_t gradient_accumulation_steps = 1;
  bool use_ema = false;
  double ema_momentum = 0.99;
  int64_t ema_overwrite_frequency = 0;
  double loss_scale_factor = 1;
};

// How an optimizer updates a variable. It has a name, slots (what it keeps beside each variable) and
// update():
//
//     struct Momentum final : Optimizer::Rule {
//       explicit Momentum(const OptimizerOptions& options) : Rule("momentum", options) {}
//       std::vector<Slot> slots(const Variable&) const override { return {{"velocity"}}; }
//       Tensor update(const Step& at, std::vector<Tensor>& slots) const override {
//         slots[0] = 0.9 * slots[0] + at.gradient;
//         return at.variable - at.learning_rate * slots[0];
//       }
//     };
//     Optimizer momentum(std::make_shared<Momentum>(OptimizerOptions{.learning_rate = 0.1}));
//
// Weight decay, bounds on gradients, accumulation, averages, loss scales, updates that are left out and
// schedules are what they are for Adam. Slots are variables NAME/SLOT/PATH, saved, broadcast and audited as
// the others. What else a rule remembers from one update to the next is not: keep it in a slot.
struct Optimizer::Rule {
  struct Slot {
    std::string name;                 // "velocity"
    double initial = 0;               // each element
    std::optional<Shape> shape = {};  // that of the variable
  };
  // One variable in one update. Its tensors are f32 (f64 for an f64 variable); what update() gives is rounded
  // to the dtype of the variable once.
  struct Step {
    Tensor variable;       // behind weight decay
    Tensor gradient;       // of its shape: of the mean loss, without a loss scale, within bounds
    Tensor learning_rate;  // []: of this update
    Tensor number;         // []: 1 in the first update
  };

  // Raises ValueError[optimizer.name] unless the name consists of letters, digits, "_", "-" and ".",
  // ValueError[<name>.<option>] for options outside of their range, ValueError[optimizer.learning_rate].
  Rule(std::string name, const OptimizerOptions& options, Location at = Location::here());
  virtual ~Rule();
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  // What is kept beside a variable, the same at every call. apply() raises ValueError[optimizer.slots] for a
  // name that is none, comes twice, or is "average" or "gradient_accumulator".
  virtual std::vector<Slot> slots(const Variable& variable) const;
  // Gives the new value of the variable, and puts the new values of its slots into `slots`, which holds the
  // present ones in their order. It may be traced, so it is made of ops alone. apply() asks it on types
  // before anything changes, and raises ShapeError[optimizer.update] where a value has another shape than
  // before, ValueError[optimizer.update] where one is missing.
  virtual Tensor update(const Step& at, std::vector<Tensor>& slots) const = 0;

  const std::string& name() const;

  // What the library keeps for every rule (src/optim/rule.h).
  struct Shared;
  Shared& shared() const { return *shared_; }

 protected:
  // For constructors: raises ValueError[<name>.<option>], as "beta_1 must lie in [0, 1), got 2", unless
  // `holds`.
  void require(bool holds, const char* option, const char* must, double value) const;

 private:
  friend class Optimizer;
  // Assigns the variable and its slots.
  virtual void assign(const Variable& variable, const Tensor& gradient, const struct UpdateScale& counts);
  std::unique_ptr<Shared> shared_;
};

}  // namespace espalier
