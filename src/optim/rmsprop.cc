#include "optim/rule.h"

namespace espalier {
namespace {

struct RmspropRule final : Optimizer::Rule {
  explicit RmspropRule(const RMSprop& given) : Rule("rmsprop", common_options(given)), options(given) {
    require(given.rho >= 0 && given.rho < 1, "rho", "must lie in [0, 1)", given.rho);
    require(given.momentum >= 0 && given.momentum <= 1, "momentum", "must lie in [0, 1]", given.momentum);
    require(given.epsilon > 0, "epsilon", "must be positive", given.epsilon);
  }

  std::vector<Slot> slots(const Variable&) const override {
    std::vector<Slot> out = {{"velocity"}};
    if (options.centered) out.push_back({"average_gradient"});
    if (options.momentum != 0) out.push_back({"momentum"});
    return out;
  }

  Tensor update(const Step& at, std::vector<Tensor>& slots) const override {
    const auto average = [&](Tensor& kept, const Tensor& value) {
      return kept = kept * options.rho + value * (1 - options.rho);
    };
    Tensor spread = average(slots[0], at.gradient * at.gradient);
    if (options.centered) spread -= square(average(slots[1], at.gradient));
    const Tensor change = at.learning_rate * at.gradient / sqrt(spread + options.epsilon);
    if (options.momentum == 0) return at.variable - change;
    Tensor& momentum = slots.back();
    momentum = momentum * options.momentum + change;
    return at.variable - momentum;
  }

  RMSprop options;
};

}  // namespace

Optimizer::Optimizer(const RMSprop& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<RmspropRule>(options);
}

}  // namespace espalier
