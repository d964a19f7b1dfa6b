#include "optim/rule.h"

namespace espalier {
namespace {

struct SgdRule final : Optimizer::Rule {
  explicit SgdRule(const SGD& given)
      : Rule("sgd", given),
        options{.momentum = given.momentum, .nesterov = given.nesterov, .weight_decay = given.weight_decay} {
    require(options.momentum >= 0 && options.momentum <= 1, "momentum", "must lie in [0, 1]",
            options.momentum);
  }

  void update(const Variable& variable, const Tensor& gradient, const UpdateScale& counts) override {
    Variable w = variable;
    if (options.momentum == 0)
      return w.assign(sgd(w, w, gradient, learning_rate, counts.scale, counts.apply, options)[0]);
    Variable velocity = slot("momentum", variable);
    const std::vector<Tensor> next =
        sgd(w, velocity, gradient, learning_rate, counts.scale, counts.apply, options);
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
