#include "optim/rule.h"

namespace espalier {
namespace {

struct AdamRule final : Optimizer::Rule {
  // Of Adam or AdamW.
  template <class Given>
  AdamRule(const char* name, const Given& given)
      : Rule(name, given),
        options{.beta_1 = given.beta_1,
                .beta_2 = given.beta_2,
                .epsilon = given.epsilon,
                .weight_decay = given.weight_decay} {
    require(options.beta_1 >= 0 && options.beta_1 < 1, "beta_1", "must lie in [0, 1)", options.beta_1);
    require(options.beta_2 >= 0 && options.beta_2 < 1, "beta_2", "must lie in [0, 1)", options.beta_2);
    require(options.epsilon > 0, "epsilon", "must be positive", options.epsilon);
  }

  void update(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) override {
    Variable w = variable, m = slot("m", variable), v = slot("v", variable);
    const std::vector<Tensor> next =
        adam(w, m, v, gradient, learning_rate, step, counts.scale, counts.apply, options);
    w.assign(next[0]);
    m.assign(next[1]);
    v.assign(next[2]);
  }

  AdamOptions options;
};

}  // namespace

Optimizer::Optimizer(const Adam& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<AdamRule>("adam", options);
}

Optimizer::Optimizer(const AdamW& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<AdamRule>("adamw", options);
}

}  // namespace espalier
