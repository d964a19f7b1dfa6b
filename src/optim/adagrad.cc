#include "optim/rule.h"

namespace espalier {
namespace {

struct AdagradRule final : PlainRule {
  explicit AdagradRule(const Adagrad& given) : PlainRule("adagrad", given), options(given) {
    require(given.initial_accumulator_value >= 0, "initial_accumulator_value", "must not be negative",
            given.initial_accumulator_value);
    require(given.epsilon > 0, "epsilon", "must be positive", given.epsilon);
  }

  Tensor change(const Variable& variable, const Tensor& gradient, const Tensor& rate) override {
    const Variable accumulator = slot("accumulator", variable, options.initial_accumulator_value);
    const Tensor squares = keep(accumulator, wide(accumulator) + gradient * gradient);
    return rate * gradient / sqrt(squares + options.epsilon);
  }

  Adagrad options;
};

}  // namespace

Optimizer::Optimizer(const Adagrad& options, Location at) {
  const CallScope scope(at);
  rule_ = std::make_shared<AdagradRule>(options);
}

}  // namespace espalier
