// Optimizers: how gradients change variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "espalier/variable.h"

namespace espalier {

// Keras' Adam; decoupled weight decay when weight_decay is not 0 (AdamW). Betas lie in [0, 1), epsilon is
// positive, the others are not negative.
struct Adam {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;
};

// w -= learning_rate * gradient, with Keras' momentum (in [0, 1]) and Nesterov forms.
struct SGD {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
};

// State is variables ("adam/step", "adam/learning_rate", "adam/m/<path>", ...), so it is saved, traced and
// sharded like any other. A handle: copies share state.
class Optimizer {
 public:
  // Raise ValueError for options outside of their range.
  Optimizer(const Adam& options, Location at = Location::here());
  Optimizer(const SGD& options, Location at = Location::here());

  // New values of `variables` from their gradients (same order; an undefined gradient leaves its variable
  // alone). Raises ValueError when the counts differ, ShapeError or DTypeError when a gradient's type is not
  // its variable's or no floating-point type; then nothing has changed.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
             Location at = Location::here());
  // Assign it to change the rate between or inside steps.
  Variable learning_rate() const;
  std::vector<Variable> variables() const;

  struct Rule;
  explicit Optimizer(std::shared_ptr<Rule> rule) : rule_(std::move(rule)) {}

 private:
  std::shared_ptr<Rule> rule_;
};

}  // namespace espalier
