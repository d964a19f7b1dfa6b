#include "optim/rule.h"

namespace espalier {
namespace {

struct AdamRule final : Optimizer::Rule {
  explicit AdamRule(const Adam& options)
      : Rule("adam", options.learning_rate),
        options{.beta_1 = options.beta_1,
                .beta_2 = options.beta_2,
                .epsilon = options.epsilon,
                .weight_decay = options.weight_decay} {
    require(options.beta_1 >= 0 && options.beta_1 < 1, "beta_1", "must lie in [0, 1)", options.beta_1);
    require(options.beta_2 >= 0 && options.beta_2 < 1, "beta_2", "must lie in [0, 1)", options.beta_2);
    require(options.epsilon > 0, "epsilon", "must be positive", options.epsilon);
    require(options.weight_decay >= 0, "weight_decay", "must not be negative", options.weight_decay);
  }

  void update(const Variable& variable, const Tensor& gradient) override {
    Variable w = variable, m = slot("m", variable), v = slot("v", variable);
    const std::vector<Tensor> next = adam(w, m, v, gradient, learning_rate, step, 1, true, options);
    w.assign(next[0]);
    m.assign(next[1]);
    v.assign(next[2]);
  }

  AdamOptions options;
};

}  // namespace

Optimizer::Optimizer(const Adam& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<AdamRule>(options);
}

}  // namespace espalier
