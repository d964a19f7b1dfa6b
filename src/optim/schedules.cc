#include "espalier/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/array.h"

namespace espalier {
namespace {

template <class T>
void require(bool holds, const char* schedule, const char* member, const char* must, const T& value) {
  if (!holds) throw ValueError(cat(schedule, ".", member), cat(member, " ", must, ", got ", value));
}
void require(bool holds, const char* schedule, const char* member, const char* must, double value) {
  require(holds, schedule, member, must, shortest(value));
}

void require_rate(const char* schedule, const char* member, double rate) {
  require(rate >= 0, schedule, member, "must not be negative", rate);
}

void require_steps(const char* schedule, int64_t steps) {
  require(steps > 0, schedule, "decay_steps", "must be positive", steps);
}

Tensor real(const Tensor& step) { return convert(step, DType::kF32); }

}  // namespace

LearningRateSchedule::LearningRateSchedule(const CosineDecay& schedule, Location at) {
  const CallScope scope(at);
  const CosineDecay s = schedule;
  require_rate("cosine_decay", "initial_learning_rate", s.initial_learning_rate);
  require_steps("cosine_decay", s.decay_steps);
  require(s.alpha >= 0 && s.alpha <= 1, "cosine_decay", "alpha", "must lie in [0, 1]", s.alpha);
  if (s.warmup_target) require_rate("cosine_decay", "warmup_target", *s.warmup_target);
  require(s.warmup_target ? s.warmup_steps >= 0 : s.warmup_steps == 0, "cosine_decay", "warmup_steps",
          s.warmup_target ? "must not be negative" : "must be 0 without warmup_target", s.warmup_steps);
  const double start = s.initial_learning_rate, top = s.warmup_target.value_or(start);
  const auto decay = static_cast<double>(s.decay_steps), warmup = static_cast<double>(s.warmup_steps);
  rate_ = [=](const Tensor& step) {
    const Tensor now = minimum(real(step), decay + warmup);
    const Tensor wave = (cos((now - warmup) / decay * std::numbers::pi) + 1) * 0.5;
    const Tensor decayed = (wave * (1 - s.alpha) + s.alpha) * top;
    return warmup == 0 ? decayed : select(now < warmup, now / warmup * (top - start) + start, decayed);
  };
}

LearningRateSchedule::LearningRateSchedule(const ExponentialDecay& schedule, Location at) {
  const CallScope scope(at);
  const ExponentialDecay s = schedule;
  require_rate("exponential_decay", "initial_learning_rate", s.initial_learning_rate);
  require_steps("exponential_decay", s.decay_steps);
  require(s.decay_rate > 0, "exponential_decay", "decay_rate", "must be positive", s.decay_rate);
  rate_ = [=](const Tensor& step) {
    const Tensor decays = real(step) / static_cast<double>(s.decay_steps);
    return pow(s.decay_rate, s.staircase ? floor(decays) : decays) * s.initial_learning_rate;
  };
}

LearningRateSchedule::LearningRateSchedule(const PiecewiseConstantDecay& schedule, Location at) {
  const CallScope scope(at);
  const PiecewiseConstantDecay s = schedule;
  if (s.values.size() != s.boundaries.size() + 1) {
    throw ValueError("piecewise_constant_decay.values",
                     cat("values must be one more than boundaries: ", s.values.size(), " values, ",
                         s.boundaries.size(), " boundaries"));
  }
  for (size_t i = 1; i < s.boundaries.size(); ++i) {
    require(s.boundaries[i] > s.boundaries[i - 1], "piecewise_constant_decay", "boundaries", "must ascend",
            cat(s.boundaries[i - 1], " before ", s.boundaries[i]));
  }
  for (const double rate : s.values) require_rate("piecewise_constant_decay", "values", rate);
  rate_ = [s](const Tensor& step) {
    Tensor rate = full(step.shape(), s.values[0]);
    for (size_t i = 0; i < s.boundaries.size(); ++i)
      rate = select(step > s.boundaries[i], full(step.shape(), s.values[i + 1]), rate);
    return rate;
  };
}

LearningRateSchedule::LearningRateSchedule(const PolynomialDecay& schedule, Location at) {
  const CallScope scope(at);
  const PolynomialDecay s = schedule;
  require_rate("polynomial_decay", "initial_learning_rate", s.initial_learning_rate);
  require_rate("polynomial_decay", "end_learning_rate", s.end_learning_rate);
  require_steps("polynomial_decay", s.decay_steps);
  require(s.power > 0, "polynomial_decay", "power", "must be positive", s.power);
  const auto decay = static_cast<double>(s.decay_steps);
  rate_ = [=](const Tensor& step) {
    const Tensor decays = real(step) / decay;
    const Tensor done = s.cycle ? decays / maximum(ceil(decays), 1) : minimum(decays, 1);
    return pow(1 - done, s.power) * (s.initial_learning_rate - s.end_learning_rate) + s.end_learning_rate;
  };
}

LearningRateSchedule::LearningRateSchedule(const WarmUp& schedule, Location at) {
  const CallScope scope(at);
  require(schedule.steps > 0, "warm_up", "steps", "must be positive", schedule.steps);
  require_rate("warm_up", "initial", schedule.initial);
  rate_ = [s = schedule](const Tensor& step) {
    const Tensor top = s.then(full(step.shape(), 0, DType::kI64));
    const Tensor warm = real(step) / static_cast<double>(s.steps) * (top - s.initial) + s.initial;
    return select(step < s.steps, warm, s.then(maximum(step - s.steps, 0)));
  };
}

Tensor LearningRateSchedule::operator()(Operand step) const {
  const CallScope scope(step.at());
  const Tensor steps = convert(step.as(DType::kI64), DType::kI64);
  return constant_ ? full(steps.shape(), *constant_) : rate_(steps);
}

}  // namespace espalier
