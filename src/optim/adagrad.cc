#include "optim/rule.h"

namespace espalier {
namespace {

struct AdagradRule final : Optimizer::Rule {
  explicit AdagradRule(const Adagrad& given) : Rule("adagrad", common_options(given)), options(given) {
    require(given.initial_accumulator_value >= 0, "initial_accumulator_value", "must not be negative",
            given.initial_accumulator_value);
    require(given.epsilon > 0, "epsilon", "must be positive", given.epsilon);
  }

  std::vector<Slot> slots(const Variable&) const override {
    return {{.name = "accumulator", .initial = options.initial_accumulator_value}};
  }

  Tensor update(const Step& at, std::vector<Tensor>& slots) const override {
    slots[0] += at.gradient * at.gradient;
    return at.variable - at.learning_rate * at.gradient / sqrt(slots[0] + options.epsilon);
  }

  Adagrad options;
};

}  // namespace

Optimizer::Optimizer(const Adagrad& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<AdagradRule>(options);
}

}  // namespace espalier
