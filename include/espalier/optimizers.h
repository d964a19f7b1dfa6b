// Optimizers: how gradients change variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "espalier/schedules.h"
#include "espalier/variable.h"

namespace espalier {

// What all of them take, by Keras' names and with Keras' defaults:
// - learning_rate: a number that is not negative, or a schedule of the updates made before;
// - weight_decay, not negative: each variable becomes smaller by learning_rate * weight_decay times itself
//   before its update (decoupled, as in AdamW);
// - at most one of three bounds on gradients, 0 for none, ValueError[<optimizer>.clip] for more: clipnorm
//   makes each gradient shorter until its norm is at most that, global_clipnorm all of them together by one
//   factor (NaN where the norm, in f32, is no finite number), clipvalue cuts elements off at -clipvalue and
//   clipvalue.
// - gradient_accumulation_steps, at least 1: so many calls of apply add their gradients, the last of them
//   updates by their mean. It is the mean over rows where the calls say what their rows weigh, as steps of
//   fit do, else that of the calls, as in Keras. Rate, step and averages belong to updates, not to calls. (In
//   Keras schedules count calls, and averages move at every call, also at those that update nothing.) A batch
//   that is trained in parts gives the update of the whole, but for layers that couple rows, as
//   BatchNormalization does, and for Dropout: it draws by a row's place in what a step sees, so that parts
//   have other masks than the whole, as in Keras;
// - use_ema keeps an average of each variable after each update: ema_momentum * average + (1 - ema_momentum)
//   * variable (after the first the variable). Every ema_overwrite_frequency updates (0: never) the
//   variables become their averages, and at the end of fit, or of finalize_variables(), too;
// - loss_scale_factor, positive: what scale_loss() multiplies a loss by and apply() divides gradients by.
// Momentums and betas lie in [0, 1], betas and rho below 1, epsilon is positive; the others are not negative.
// All is computed in f32, or f64 for f64 variables, and rounded once.

// v = momentum * v - learning_rate * gradient; w += v, or by Nesterov w += momentum * v - learning_rate *
// gradient.
struct SGD {
  LearningRateSchedule learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
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

// Kingma and Ba, https://arxiv.org/abs/1412.6980, in the order before its section 2.1.
struct Adam {
  LearningRateSchedule learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
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

// Adam with weight decay: Loshchilov and Hutter, https://arxiv.org/abs/1711.05101.
struct AdamW {
  LearningRateSchedule learning_rate = 1e-3;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double clipnorm = 0;
  double global_clipnorm = 0;
  double clipvalue = 0;
  int64_t gradient_accumulation_steps = 1;
  bool use_ema = false;
  double ema_momentum = 0.99;
  int64_t ema_overwrite_frequency = 0;
  double loss_scale_factor = 1;
};

// v = rho * v + (1 - rho) * gradient^2; w -= learning_rate * gradient / sqrt(v + epsilon). `centered` takes
// the square of the gradient's own average from v. With momentum m = momentum * m + that change, and w -= m.
struct RMSprop {
  LearningRateSchedule learning_rate = 1e-3;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
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

// a += gradient^2; w -= learning_rate * gradient / sqrt(a + epsilon). Duchi, Hazan and Singer, 2011.
struct Adagrad {
  LearningRateSchedule learning_rate = 1e-3;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
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

// What a loss is multiplied by before it is differentiated, so that gradients in float16 do not become 0; the
// optimizer divides by it again. A step whose gradients are not all finite changes nothing but scale and
// counters: no variable, average or iteration. Its rows count in loss and metrics, as in Keras, where their
// loss is finite. From Keras' LossScaleOptimizer.
struct LossScale {
  double initial = 32768;
  // Doubled after `growth_steps` finite steps, halved after each other one; else it stays.
  bool dynamic = true;
  int64_t growth_steps = 2000;
};

// What stands between gradients and an update, known when it runs.
struct UpdateControl {
  // f32[]: each gradient counts times this, before bounds. Undefined: 1.
  Tensor scale = {};
  // f32[]: gradients are of sums over rows that weigh this much, and the update takes their mean. Undefined:
  // they are of means, which count alike.
  Tensor weight = {};
  // bool[]: where it is false nothing changes, neither variables nor the optimizer's state, whatever the
  // gradients hold. Undefined: true.
  Tensor apply = {};
};

class LossScaling;
struct LossScaleOptimizer;

// State is variables ("adam/step", "adam/learning_rate", "adam/m/<path>", ...), so it is saved, traced and
// sharded like any other. A handle: copies share state.
class Optimizer {
 public:
  // Raise ValueError[<optimizer>.<option>] for options outside of their range,
  // ValueError[optimizer.learning_rate].
  Optimizer(const SGD& options, Location at = Location::here());
  Optimizer(const Adam& options, Location at = Location::here());
  Optimizer(const AdamW& options, Location at = Location::here());
  Optimizer(const RMSprop& options, Location at = Location::here());
  Optimizer(const Adagrad& options, Location at = Location::here());
  // See there. Raises ValueError[loss_scale.initial] and [loss_scale.growth_steps] as compile() does,
  // [loss_scale.two] for an inner optimizer that is one itself.
  Optimizer(const LossScaleOptimizer& options, Location at = Location::here());

  // New values of `variables` from their gradients (same order; an undefined gradient leaves its variable
  // alone). Raises ValueError when the counts differ, [optimizer.gradients] when there is no gradient at all,
  // ShapeError or DTypeError when a gradient's type is not its variable's or no floating-point type; then
  // nothing has changed.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
             Location at = Location::here());
  // The same under `control`. Raises besides DTypeError[optimizer.control] for a scale or an apply of another
  // type.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
             const UpdateControl& control, Location at = Location::here());
  // What to differentiate instead of the loss: the loss times loss_scale_factor, and times dynamic_scale() of
  // a LossScaleOptimizer.
  Tensor scale_loss(const Tensor& loss) const;
  int64_t gradient_accumulation_steps() const;
  // With use_ema the variables become their averages, those that have one.
  void finalize_variables(const std::vector<Variable>& variables);
  // Assign it to change the rate between or inside steps. Under a schedule it is the rate of the last update
  // (before: of the first), and every update assigns it.
  Variable learning_rate() const;
  // Of a LossScaleOptimizer: f32[], its scale; and the optimizer inside, which knows of no scale. Raise
  // StateError[optimizer.loss_scale] for others.
  Variable dynamic_scale() const;
  Optimizer inner_optimizer() const;
  // Those of a scale are behind the others.
  std::vector<Variable> variables() const;

  // How it updates a variable; optimizer_rule.h has it, for optimizers of one's own. Raises
  // ValueError[optimizer.rule] where there is none.
  struct Rule;
  explicit Optimizer(std::shared_ptr<Rule> rule, Location at = Location::here());
  const std::shared_ptr<Rule>& rule() const { return rule_; }
  // Null without one.
  const LossScaling* loss_scaling() const { return scaling_.get(); }

 private:
  std::shared_ptr<Rule> rule_;
  std::shared_ptr<LossScaling> scaling_;  // null: none
};

// Keras': an optimizer under a loss scale that follows what overflows, for loops of one's own; compile()
// takes it, too.
//
//     Optimizer optimizer = LossScaleOptimizer{.inner_optimizer = Adam{}};
//     ...
//     const auto gradients = tape.gradient(optimizer.scale_loss(loss), weights);
//     optimizer.apply(gradients, weights);  // of several replicas: strategy::all_reduce(gradients)
//
// apply() divides gradients by the scale. Where one of them is not finite it changes nothing, neither
// variables nor the inner optimizer's state, and the scale is halved; behind so many updates in a row it is
// doubled. Replicas agree on it without a word: what is not finite on one of them is not finite in the sum on
// all. So the order is scale_loss, gradient, all_reduce, apply; what overflows only in the sum is skipped as
// well. Calls that gradients are accumulated over are skipped one by one.
struct LossScaleOptimizer {
  Optimizer inner_optimizer;
  double initial_scale = 32768;
  int64_t dynamic_growth_steps = 2000;
};

}  // namespace espalier
