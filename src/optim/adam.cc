#include "optim/rule.h"

namespace espalier {
namespace {

struct AdamRule final : FusedRule {
  // Of Adam or AdamW.
  template <class Given>
  AdamRule(const char* name, const Given& given)
      : FusedRule(name, common_options(given)),
        options{.beta_1 = given.beta_1,
                .beta_2 = given.beta_2,
                .epsilon = given.epsilon,
                .weight_decay = given.weight_decay} {
    require(options.beta_1 >= 0 && options.beta_1 < 1, "beta_1", "must lie in [0, 1)", options.beta_1);
    require(options.beta_2 >= 0 && options.beta_2 < 1, "beta_2", "must lie in [0, 1)", options.beta_2);
    require(options.epsilon > 0, "epsilon", "must be positive", options.epsilon);
  }

  std::vector<Slot> slots(const Variable&) const override { return {{"m"}, {"v"}}; }

  void assign(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) override {
    const std::vector<Variable> kept = shared().slots_of(*this, variable);
    Variable w = variable, m = kept[0], v = kept[1];
    const std::vector<Tensor> next =
        adam(w, m, v, gradient, shared().learning_rate, shared().step, counts.scale, counts.apply, options);
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
