// Optimizers: how gradients change variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "espalier/variable.h"

namespace espalier {

// State is variables ("adam/step", "adam/learning_rate", "adam/m/<path>", ...), so it is saved, traced and
// sharded like any other. A handle: copies share state.
class Optimizer {
 public:
  // New values of `variables` from their gradients (same order; an undefined gradient leaves its variable
  // alone). Raises ShapeError or ValueError when counts or types differ.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables);
  // Assign it to change the rate between or inside steps.
  Variable learning_rate() const;
  std::vector<Variable> variables() const;

  struct Rule;
  explicit Optimizer(std::shared_ptr<Rule> rule) : rule_(std::move(rule)) {}

 private:
  std::shared_ptr<Rule> rule_;
};

// Keras' Adam; decoupled weight decay when weight_decay is not 0 (AdamW).
struct Adam {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;
  operator Optimizer() const;
};

// w -= learning_rate * gradient, with Keras' momentum and Nesterov forms.
struct SGD {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  operator Optimizer() const;
};

}  // namespace espalier
