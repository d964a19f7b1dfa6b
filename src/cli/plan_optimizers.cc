#include "cli/plan_fields.h"

namespace espalier::cli {
namespace {

constexpr Range kBelowOne = {.low = 0, .high = 1, .open_high = true};

Field rate_field(double& target, const char* key = "initial_learning_rate") {
  return {
      .key = key, .target = &target, .meaning = "The rate at first", .range = at_least(0), .required = true};
}
Field steps_field(int64_t& target) {
  return {.key = "decay_steps",
          .target = &target,
          .meaning = "Steps of the decay",
          .range = at_least(1),
          .required = true};
}

// What all optimizers have.
template <class Rule>
Fields with_common(Fields own, OptimizerOf<Rule>& plan) {
  Fields out = {{"learning_rate", one_of(plan.learning_rate), "A number, or a schedule"}};
  out.insert(out.end(), own.begin(), own.end());
  out.push_back({"weight_decay", &plan.rule.weight_decay, "Decoupled, as in AdamW", at_least(0)});
  out.push_back({"clipnorm", &plan.rule.clipnorm, "Bound on each gradient's norm; 0 for none", at_least(0)});
  out.push_back(
      {"global_clipnorm", &plan.rule.global_clipnorm, "Bound on the norm of all; 0 for none", at_least(0)});
  out.push_back({"clipvalue", &plan.rule.clipvalue, "Bound on each element; 0 for none", at_least(0)});
  out.push_back({"gradient_accumulation_steps", &plan.rule.gradient_accumulation_steps,
                 "Steps whose gradients make one update", at_least(1)});
  out.push_back({"use_ema", &plan.rule.use_ema, "Keep moving averages of variables, the weights at the end"});
  out.push_back({"ema_momentum", &plan.rule.ema_momentum, "What the averages keep", between(0, 1)});
  out.push_back({"ema_overwrite_frequency", &plan.rule.ema_overwrite_frequency,
                 "Updates after which averages replace the variables; 0 for the end alone", at_least(0)});
  out.push_back({"loss_scale_factor", &plan.rule.loss_scale_factor,
                 "What the loss is multiplied by meanwhile", above(0)});
  return out;
}
template <class Rule>
Fields adam_fields(OptimizerOf<Rule>& plan) {
  return with_common({{"beta_1", &plan.rule.beta_1, "Decay of the gradients' average", kBelowOne},
                      {"beta_2", &plan.rule.beta_2, "Decay of the squares' average", kBelowOne},
                      {"epsilon", &plan.rule.epsilon, "Added to the divisor", above(0)}},
                     plan);
}

}  // namespace

template <>
struct Kind<double> {
  static constexpr const char* kName = "";
  static Fields fields(double& plan) { return {{"", &plan, "Constant", at_least(0)}}; }
};
template <>
struct Kind<CosineDecay> {
  static constexpr const char* kName = "cosine";
  static Fields fields(CosineDecay& plan) {
    return {
        rate_field(plan.initial_learning_rate),
        steps_field(plan.decay_steps),
        {"alpha", &plan.alpha, "The last rate is alpha times the highest", between(0, 1)},
        {"warmup_target", &plan.warmup_target, "The rate after warmup_steps, from which it decays",
         at_least(0)},
        {"warmup_steps", &plan.warmup_steps, "Steps in which the rate grows to warmup_target", at_least(0)}};
  }
};
template <>
struct Kind<ExponentialDecay> {
  static constexpr const char* kName = "exponential";
  static Fields fields(ExponentialDecay& plan) {
    return {rate_field(plan.initial_learning_rate),
            steps_field(plan.decay_steps),
            {"decay_rate", &plan.decay_rate, "Factor of decay_steps steps", above(0)},
            {"staircase", &plan.staircase, "Whether the rate falls at every decay_steps only"}};
  }
};
template <>
struct Kind<PiecewiseConstantDecay> {
  static constexpr const char* kName = "piecewise_constant";
  static Fields fields(PiecewiseConstantDecay& plan) {
    return {{.key = "boundaries",
             .target = &plan.boundaries,
             .meaning = "The last steps of the values, ascending",
             .range = at_least(0),
             .required = true},
            {.key = "values",
             .target = &plan.values,
             .meaning = "Rates, one more than boundaries",
             .range = at_least(0),
             .required = true}};
  }
};
template <>
struct Kind<PolynomialDecay> {
  static constexpr const char* kName = "polynomial";
  static Fields fields(PolynomialDecay& plan) {
    return {rate_field(plan.initial_learning_rate),
            steps_field(plan.decay_steps),
            {"end_learning_rate", &plan.end_learning_rate, "The rate after decay_steps", at_least(0)},
            {"power", &plan.power, "Of the share that is left", above(0)},
            {"cycle", &plan.cycle, "Whether it begins again, with more steps"}};
  }
};

template <>
struct Kind<WarmUpPlan> {
  static constexpr const char* kName = "warm_up";
  static Fields fields(WarmUpPlan& plan) {
    return {{.key = "steps",
             .target = &plan.rule.steps,
             .meaning = "Steps in which the rate grows to the first one of then",
             .range = at_least(1),
             .required = true},
            {"initial", &plan.rule.initial, "The rate at first", at_least(0)},
            {.key = "then",
             .target = one_of_variant("schedule", plan.then),
             .meaning = "A number, or another schedule, which begins behind these steps",
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
    return with_common(
        {{"momentum", &plan.rule.momentum, "Share of the last change that stays", between(0, 1)},
         {"nesterov", &plan.rule.nesterov, "Nesterov's momentum"}},
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
        {{"rho", &plan.rule.rho, "Decay of the squares' average", kBelowOne},
         {"momentum", &plan.rule.momentum, "Share of the last change that stays", between(0, 1)},
         {"epsilon", &plan.rule.epsilon, "Added to the squares' average", above(0)},
         {"centered", &plan.rule.centered, "Whether the average's square is taken off"}},
        plan);
  }
};
template <>
struct Kind<OptimizerOf<Adagrad>> {
  static constexpr const char* kName = "Adagrad";
  static Fields fields(OptimizerOf<Adagrad>& plan) {
    return with_common({{"initial_accumulator_value", &plan.rule.initial_accumulator_value,
                         "Of the sums of squares", at_least(0)},
                        {"epsilon", &plan.rule.epsilon, "Added to the sums", above(0)}},
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

}  // namespace espalier::cli
