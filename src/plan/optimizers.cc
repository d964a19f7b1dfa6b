#include "plan/fields.h"

namespace espalier {
namespace {

constexpr Range kBelowOne = {.low = 0, .high = 1, .open_high = true};

Field rate_field(double& target, const char* key = "initial_learning_rate") {
  return {.key = key,
          .target = &target,
          .meaning = "Initial learning rate",
          .range = at_least(0),
          .required = true};
}
Field steps_field(int64_t& target, const char* meaning) {
  return {
      .key = "decay_steps", .target = &target, .meaning = meaning, .range = at_least(1), .required = true};
}

// What all optimizers have.
template <class Rule>
Fields with_common(Fields own, OptimizerOf<Rule>& plan) {
  Fields out = {{"learning_rate", one_of(plan.learning_rate), "Learning rate: a number or a schedule"}};
  out.insert(out.end(), own.begin(), own.end());
  out.push_back({"weight_decay", &plan.rule.weight_decay,
                 "Coefficient of decoupled weight decay, as in AdamW (0 = none)", at_least(0)});
  out.push_back(
      {"clipnorm", &plan.rule.clipnorm, "Limit on the norm of each gradient (0 = no clipping)", at_least(0)});
  out.push_back({"global_clipnorm", &plan.rule.global_clipnorm,
                 "Limit on the norm of all gradients together (0 = no clipping)", at_least(0)});
  out.push_back({"clipvalue", &plan.rule.clipvalue,
                 "Limit on the absolute value of each gradient element (0 = no clipping)", at_least(0)});
  out.push_back({"gradient_accumulation_steps", &plan.rule.gradient_accumulation_steps,
                 "Steps whose gradients are averaged for one update", at_least(1)});
  out.push_back(
      {"use_ema", &plan.rule.use_ema,
       "Keep an exponential moving average (EMA) of each variable, which replaces it when training ends"});
  out.push_back({"ema_momentum", &plan.rule.ema_momentum,
                 "Momentum of the EMA: share of the old average kept per update", between(0, 1)});
  out.push_back({"ema_overwrite_frequency", &plan.rule.ema_overwrite_frequency,
                 "Updates between replacements of the variables by their EMA (0 = only when training ends)",
                 at_least(0)});
  out.push_back({"loss_scale_factor", &plan.rule.loss_scale_factor,
                 "Factor of the loss while gradients are computed; they are divided by it before the update",
                 above(0)});
  return out;
}
template <class Rule>
Fields adam_fields(OptimizerOf<Rule>& plan) {
  return with_common(
      {{"beta_1", &plan.rule.beta_1, "Decay rate of the moving average of gradients", kBelowOne},
       {"beta_2", &plan.rule.beta_2, "Decay rate of the moving average of squared gradients", kBelowOne},
       {"epsilon", &plan.rule.epsilon, "Constant added to the denominator, for numerical stability",
        above(0)}},
      plan);
}

}  // namespace

template <>
struct Kind<double> {
  static constexpr const char* kName = "";
  static Fields fields(double& plan) { return {{"", &plan, "Constant learning rate", at_least(0)}}; }
};
template <>
struct Kind<CosineDecay> {
  static constexpr const char* kName = "cosine";
  static Fields fields(CosineDecay& plan) {
    return {
        rate_field(plan.initial_learning_rate),
        steps_field(plan.decay_steps, "Steps of the decay, after those of the warm-up"),
        {"alpha", &plan.alpha, "Final learning rate, as a share of the rate that the decay starts from",
         between(0, 1)},
        {"warmup_target", &plan.warmup_target,
         "Learning rate after warmup_steps, from which the decay starts (none = no warm-up)", at_least(0)},
        {"warmup_steps", &plan.warmup_steps,
         "Steps of linear warm-up from initial_learning_rate to warmup_target", at_least(0)}};
  }
};
template <>
struct Kind<ExponentialDecay> {
  static constexpr const char* kName = "exponential";
  static Fields fields(ExponentialDecay& plan) {
    return {
        rate_field(plan.initial_learning_rate),
        steps_field(plan.decay_steps, "Steps in which the learning rate changes by the factor decay_rate"),
        {"decay_rate", &plan.decay_rate, "Factor of the learning rate per decay_steps steps", above(0)},
        {"staircase", &plan.staircase, "Decay once every decay_steps steps, instead of at each step"}};
  }
};
template <>
struct Kind<PiecewiseConstantDecay> {
  static constexpr const char* kName = "piecewise_constant";
  static Fields fields(PiecewiseConstantDecay& plan) {
    return {{.key = "boundaries",
             .target = &plan.boundaries,
             .meaning = "Last step of each rate but the final one, counted from 0, ascending",
             .range = at_least(0),
             .required = true},
            {.key = "values",
             .target = &plan.values,
             .meaning = "Learning rates, one more than boundaries",
             .range = at_least(0),
             .required = true}};
  }
};
template <>
struct Kind<PolynomialDecay> {
  static constexpr const char* kName = "polynomial";
  static Fields fields(PolynomialDecay& plan) {
    return {
        rate_field(plan.initial_learning_rate),
        steps_field(plan.decay_steps, "Steps of the decay from initial_learning_rate to end_learning_rate"),
        {"end_learning_rate", &plan.end_learning_rate, "Final learning rate, after decay_steps", at_least(0)},
        {"power", &plan.power, "Exponent of the share of decay_steps that is left (1 = linear decay)",
         above(0)},
        {"cycle", &plan.cycle,
         "Restart the decay whenever it ends, stretched to the next multiple of decay_steps"}};
  }
};

template <>
struct Kind<WarmUpPlan> {
  static constexpr const char* kName = "warm_up";
  static Fields fields(WarmUpPlan& plan) {
    return {{.key = "steps",
             .target = &plan.rule.steps,
             .meaning = "Steps of linear warm-up from initial to the first rate of then",
             .range = at_least(1),
             .required = true},
            {"initial", &plan.rule.initial, "Initial learning rate", at_least(0)},
            {.key = "then",
             .target = one_of_variant("schedule", plan.then),
             .meaning = "Learning rate after the warm-up: a number, or a schedule whose steps start there",
             .required = true}};
  }
};

OneOf one_of(RatePlan& plan) {
  return one_of_variant("schedule", plan, [&plan] { make_schedule(plan); });
}

namespace {

template <class T>
LearningRateSchedule schedule_of(const T& plan) {
  return plan;
}
LearningRateSchedule schedule_of(const WarmUpPlan& plan) {
  WarmUp rule = plan.rule;
  rule.then = std::visit([](const auto& x) { return schedule_of(x); }, plan.then);
  return rule;
}

}  // namespace

LearningRateSchedule make_schedule(const RatePlan& plan) {
  return std::visit([](const auto& x) { return schedule_of(x); }, plan);
}

template <>
struct Kind<OptimizerOf<SGD>> {
  static constexpr const char* kName = "SGD";
  static Fields fields(OptimizerOf<SGD>& plan) {
    return with_common({{"momentum", &plan.rule.momentum,
                         "Momentum: share of the previous update added to each update", between(0, 1)},
                        {"nesterov", &plan.rule.nesterov, "Use Nesterov momentum"}},
                       plan);
  }
};
template <>
struct Kind<OptimizerOf<Adam>> {
  static constexpr const char* kName = "Adam";
  static Fields fields(OptimizerOf<Adam>& plan) { return adam_fields(plan); }
};
template <>
struct Kind<OptimizerOf<AdamW>> {
  static constexpr const char* kName = "AdamW";
  static Fields fields(OptimizerOf<AdamW>& plan) { return adam_fields(plan); }
};
template <>
struct Kind<OptimizerOf<RMSprop>> {
  static constexpr const char* kName = "RMSprop";
  static Fields fields(OptimizerOf<RMSprop>& plan) {
    return with_common(
        {{"rho", &plan.rule.rho, "Decay rate of the moving average of squared gradients", kBelowOne},
         {"momentum", &plan.rule.momentum, "Momentum: share of the previous update added to each update",
          between(0, 1)},
         {"epsilon", &plan.rule.epsilon, "Constant added under the square root, for numerical stability",
          above(0)},
         {"centered", &plan.rule.centered,
          "Divide by the standard deviation of gradients: subtract the squared average gradient from the "
          "average of squares"}},
        plan);
  }
};
template <>
struct Kind<OptimizerOf<Adagrad>> {
  static constexpr const char* kName = "Adagrad";
  static Fields fields(OptimizerOf<Adagrad>& plan) {
    return with_common({{"initial_accumulator_value", &plan.rule.initial_accumulator_value,
                         "Initial value of the sums of squared gradients", at_least(0)},
                        {"epsilon", &plan.rule.epsilon,
                         "Constant added under the square root, for numerical stability", above(0)}},
                       plan);
  }
};

OneOf one_of(OptimizerPlan& plan) {
  return one_of_variant("type", plan, [&plan] { make_optimizer(plan); });
}

Optimizer make_optimizer(const OptimizerPlan& plan) {
  return std::visit(
      [](const auto& x) {
        auto rule = x.rule;
        rule.learning_rate = make_schedule(x.learning_rate);
        return Optimizer(rule);
      },
      plan);
}

}  // namespace espalier
