// Learning rates that follow from the number of the update, by Keras' names and formulas.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// Steps count from 0. Rates are not negative. A number outside of its range raises
// ValueError[<schedule>.<member>] when a LearningRateSchedule is made.

// Half a period of the cosine: from initial_learning_rate, or from warmup_target where that is given, down to
// alpha times that rate in decay_steps; before it, warmup_steps in which the rate grows evenly from
// initial_learning_rate to warmup_target.
struct CosineDecay {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;  // positive
  double alpha = 0;         // in [0, 1]
  std::optional<double> warmup_target = {};
  int64_t warmup_steps = 0;  // not negative; 0 without warmup_target
};

// initial_learning_rate * decay_rate^(step / decay_steps); `staircase` takes whole numbers of the quotient.
struct ExponentialDecay {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;  // positive
  double decay_rate = 1;    // positive
  bool staircase = false;
};

// values[0] up to and with step boundaries[0], then values[1] up to and with boundaries[1], and so on.
struct PiecewiseConstantDecay {
  std::vector<int64_t> boundaries = {};  // ascending
  std::vector<double> values = {};       // one more than boundaries
};

// (initial_learning_rate - end_learning_rate) * (1 - step / decay_steps)^power + end_learning_rate, which is
// reached after decay_steps. With `cycle` decay_steps grow to their next multiple whenever they are over.
struct PolynomialDecay {
  double initial_learning_rate = 0;
  int64_t decay_steps = 0;  // positive
  double end_learning_rate = 1e-4;
  double power = 1;  // positive
  bool cycle = false;
};

struct WarmUp;

// A number, one of the schedules here, or a function of one's own.
class LearningRateSchedule {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> LearningRateSchedule(T rate) : constant_(static_cast<double>(rate)) {}
  LearningRateSchedule(const CosineDecay& schedule, Location at = Location::here());
  LearningRateSchedule(const ExponentialDecay& schedule, Location at = Location::here());
  LearningRateSchedule(const PiecewiseConstantDecay& schedule, Location at = Location::here());
  LearningRateSchedule(const PolynomialDecay& schedule, Location at = Location::here());
  LearningRateSchedule(const WarmUp& schedule, Location at = Location::here());
  // (steps i64[...]) -> rates f32[...], out of tensor functions, since it is traced.
  explicit LearningRateSchedule(std::function<Tensor(const Tensor& step)> rate) : rate_(std::move(rate)) {}

  // The number, where it is one.
  std::optional<double> constant() const { return constant_; }
  // Whole numbers of any shape to rates f32 of that shape.
  Tensor operator()(Operand step) const;

 private:
  std::optional<double> constant_;
  std::function<Tensor(const Tensor& step)> rate_;
};

// `steps` in which the rate grows (or falls) evenly from `initial` to the first one of `then`, which begins
// behind them: WarmUp{.steps = 500, .then = ExponentialDecay{...}}.
struct WarmUp {
  int64_t steps = 0;  // positive
  double initial = 0;
  LearningRateSchedule then = 0;
};

}  // namespace espalier
