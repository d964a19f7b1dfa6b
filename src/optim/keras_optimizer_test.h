// Optimizers and schedules of Keras' names and arguments, as scripts of tests/golden write them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "espalier/ops.h"
#include "espalier/optimizers.h"
#include "ir/golden_test.h"

namespace espalier {

inline LearningRateSchedule keras_schedule(const std::string& name, const nlohmann::json& a) {
  if (name == "CosineDecay") {
    CosineDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "alpha", s.alpha);
    if (a.contains("warmup_target")) s.warmup_target = a.at("warmup_target").get<double>();
    take_argument(a, "warmup_steps", s.warmup_steps);
    return s;
  }
  if (name == "ExponentialDecay") {
    ExponentialDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "decay_rate", s.decay_rate);
    take_argument(a, "staircase", s.staircase);
    return s;
  }
  if (name == "PiecewiseConstantDecay") {
    PiecewiseConstantDecay s;
    take_argument(a, "boundaries", s.boundaries);
    take_argument(a, "values", s.values);
    return s;
  }
  if (name == "PolynomialDecay") {
    PolynomialDecay s;
    take_argument(a, "initial_learning_rate", s.initial_learning_rate);
    take_argument(a, "decay_steps", s.decay_steps);
    take_argument(a, "end_learning_rate", s.end_learning_rate);
    take_argument(a, "power", s.power);
    take_argument(a, "cycle", s.cycle);
    return s;
  }
  throw std::runtime_error(name);
}

template <class Options>
Options keras_common(const nlohmann::json& a) {
  Options out;
  if (a.contains("learning_rate")) {
    const nlohmann::json& rate = a.at("learning_rate");
    out.learning_rate = rate.is_object() ? keras_schedule(rate.at("class"), rate.at("arguments"))
                                         : LearningRateSchedule(rate.get<double>());
  }
  take_argument(a, "weight_decay", out.weight_decay);
  take_argument(a, "clipnorm", out.clipnorm);
  take_argument(a, "global_clipnorm", out.global_clipnorm);
  take_argument(a, "clipvalue", out.clipvalue);
  take_argument(a, "gradient_accumulation_steps", out.gradient_accumulation_steps);
  take_argument(a, "use_ema", out.use_ema);
  take_argument(a, "ema_momentum", out.ema_momentum);
  take_argument(a, "ema_overwrite_frequency", out.ema_overwrite_frequency);
  take_argument(a, "loss_scale_factor", out.loss_scale_factor);
  return out;
}

template <class Options>
Options keras_betas(const nlohmann::json& a) {
  auto out = keras_common<Options>(a);
  take_argument(a, "beta_1", out.beta_1);
  take_argument(a, "beta_2", out.beta_2);
  take_argument(a, "epsilon", out.epsilon);
  return out;
}

inline Optimizer keras_optimizer(const std::string& name, const nlohmann::json& a) {
  if (name == "SGD") {
    auto out = keras_common<SGD>(a);
    take_argument(a, "momentum", out.momentum);
    take_argument(a, "nesterov", out.nesterov);
    return out;
  }
  if (name == "Adam") return keras_betas<Adam>(a);
  if (name == "AdamW") return keras_betas<AdamW>(a);
  if (name == "RMSprop") {
    auto out = keras_common<RMSprop>(a);
    take_argument(a, "rho", out.rho);
    take_argument(a, "momentum", out.momentum);
    take_argument(a, "epsilon", out.epsilon);
    take_argument(a, "centered", out.centered);
    return out;
  }
  if (name == "Adagrad") {
    auto out = keras_common<Adagrad>(a);
    take_argument(a, "initial_accumulator_value", out.initial_accumulator_value);
    take_argument(a, "epsilon", out.epsilon);
    return out;
  }
  throw std::runtime_error(name);
}

// Of a case of keras_steps.py: what finalize_variable_values leaves. Keras' averages of calls are not ours.
inline void expect_keras_final(const std::vector<Variable>& variables, const nlohmann::json& c) {
  for (size_t i = 0; i < variables.size(); ++i) {
    const nlohmann::json& wanted = c.at("final")[i];
    if (!c.at("averages_of_calls")) {
      expect_golden(variables[i], wanted, 1e-5);
    } else {
      const Tensor away = abs(variables[i] - golden_array(wanted));
      EXPECT_GT(reduce_max(away, Dims::range(away.rank())).item<float>(), 0.01f) << i;
    }
  }
}

}  // namespace espalier
