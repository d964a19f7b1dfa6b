#include <limits>

#include "base/format.h"
#include "eager/observations.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {
namespace {

thread_local ObservationScope* innermost = nullptr;

std::vector<Tensor> by_element(std::span<const Tensor> a, std::span<const Tensor> b,
                               Tensor (*both)(Operand, Operand)) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(both(a[i], b[i]));
  return out;
}

// Parts that weigh nothing together keep the first one's value. In f32 and rounded once: in 16 bits weights,
// and the distance of two values, overflow where the mean does not.
std::vector<Tensor> mean_of(std::span<const Tensor> a, std::span<const Tensor> b) {
  const auto wide = [](const Tensor& t) {
    return is_float(t.dtype()) && size_of(t.dtype()) == 2 ? convert(t, DType::kF32) : t;
  };
  const Tensor weight = wide(a[1]) + wide(b[1]),
               share = wide(b[1]) / maximum(weight, std::numeric_limits<float>::min());
  const Tensor first = wide(a[0]), mean = first + (wide(b[0]) - first) * convert(share, first.dtype());
  return {convert(mean, a[0].dtype()), convert(weight, a[1].dtype())};
}

}  // namespace

ObservationScope::ObservationScope() : trace_(Trace::current()), before_(std::exchange(innermost, this)) {}
ObservationScope::~ObservationScope() { innermost = before_; }

bool ObservationScope::take(const Observation& observation) {
  const Trace* const trace = Trace::current();
  if (!innermost || !trace || innermost->trace_ != trace) return false;
  if (&Sink::current() != &Trace::current()->builder()) return false;
  innermost->kept_.push_back(observation);
  return true;
}

std::vector<Variable> ObservationScope::observed() {
  std::vector<Variable> out;
  if (!innermost || innermost->trace_ != Trace::current()) return out;
  for (const Observation& observation : innermost->kept_)
    out.insert(out.end(), observation.variables.begin(), observation.variables.end());
  return out;
}

std::vector<Tensor> combine_increments(const Observation& how, std::span<const Tensor> a,
                                       std::span<const Tensor> b) {
  switch (how.combination) {
    case Combination::kSum:
      return by_element(a, b, add);
    case Combination::kMaximum:
      return by_element(a, b, maximum);
    case Combination::kMean:
      return mean_of(a, b);
    case Combination::kEqual:
      return {b.begin(), b.end()};
    case Combination::kJoint:
      break;
  }
  return how.combine(a, b);
}

std::vector<Tensor> folded(const Observation& how, std::span<const Tensor> now,
                           std::span<const Tensor> increments) {
  return how.fold ? how.fold(now, increments) : combine_increments(how, now, increments);
}

void observe(Observation observation, Location at) {
  const CallScope scope(at);
  const size_t variables = observation.variables.size(), increments = observation.increments.size();
  const bool is_mean = observation.combination == Combination::kMean;
  if (variables == 0 || increments < variables || (!observation.fold && increments != variables) ||
      (is_mean && increments != 2)) {
    throw ValueError("observe.increments",
                     cat(counted(increments, "increment"), " for ", counted(variables, "variable"),
                         is_mean ? ": a mean has a value and a weight" : ""),
                     observation.fold || is_mean ? "" : "as many, or a fold");
  }
  if (observation.combination == Combination::kJoint && !observation.combine)
    throw ValueError("observe.combine", "a joint combination needs a function");
  if (ObservationScope::take(observation)) return;
  std::vector<Tensor> now;
  for (const Variable& variable : observation.variables) now.push_back(variable.state()->read());
  std::vector<Tensor> changes;
  for (const Tensor& increment : observation.increments)
    changes.push_back(beside(*observation.variables[0].state(), increment));
  const std::vector<Tensor> next = folded(observation, now, changes);
  for (size_t i = 0; i < variables; ++i) observation.variables[i].assign(next[i]);
}

}  // namespace espalier
