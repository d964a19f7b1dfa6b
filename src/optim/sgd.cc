#include "optim/rule.h"

namespace espalier {
namespace {

struct SgdRule final : FusedRule {
  explicit SgdRule(const SGD& given)
      : FusedRule("sgd", common_options(given)),
        options{.momentum = given.momentum, .nesterov = given.nesterov, .weight_decay = given.weight_decay} {
    require(options.momentum >= 0 && options.momentum <= 1, "momentum", "must lie in [0, 1]",
            options.momentum);
  }

  std::vector<Slot> slots(const Variable&) const override {
    return options.momentum == 0 ? std::vector<Slot>() : std::vector<Slot>{{"momentum"}};
  }

  void assign(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) override {
    const Variable& rate = shared().learning_rate;
    Variable w = variable;
    if (options.momentum == 0)
      return w.assign(sgd(w, w, gradient, rate, counts.scale, counts.apply, options)[0]);
    Variable velocity = shared().slots_of(*this, variable)[0];
    const std::vector<Tensor> next = sgd(w, velocity, gradient, rate, counts.scale, counts.apply, options);
    w.assign(next[0]);
    velocity.assign(next[1]);
  }

  SgdOptions options;
};

}  // namespace

Optimizer::Optimizer(const SGD& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<SgdRule>(options);
}

}  // namespace espalier
