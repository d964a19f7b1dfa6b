#include "optim/rule.h"

namespace espalier {
namespace {

struct RmspropRule final : PlainRule {
  explicit RmspropRule(const RMSprop& given) : PlainRule("rmsprop", given), options(given) {
    require(given.rho >= 0 && given.rho < 1, "rho", "must lie in [0, 1)", given.rho);
    require(given.momentum >= 0 && given.momentum <= 1, "momentum", "must lie in [0, 1]", given.momentum);
    require(given.epsilon > 0, "epsilon", "must be positive", given.epsilon);
  }

  Tensor average(const char* slot_name, const Variable& variable, const Tensor& value) {
    const Variable kept = slot(slot_name, variable);
    return keep(kept, wide(kept) * options.rho + value * (1 - options.rho));
  }

  Tensor change(const Variable& variable, const Tensor& gradient, const Tensor& rate) override {
    Tensor spread = average("velocity", variable, gradient * gradient);
    if (options.centered) spread -= square(average("average_gradient", variable, gradient));
    const Tensor change = rate * gradient / sqrt(spread + options.epsilon);
    if (options.momentum == 0) return change;
    const Variable momentum = slot("momentum", variable);
    return keep(momentum, wide(momentum) * options.momentum + change);
  }

  RMSprop options;
};

}  // namespace

Optimizer::Optimizer(const RMSprop& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<RmspropRule>(options);
}

}  // namespace espalier
