#include "train/step.h"

#include "eager/trace.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "nn/row_weight.h"
#include "train/assignments.h"
#include "train/counted_rows.h"
#include "train/culprit.h"
#include "train/finite_sum.h"

namespace espalier {
namespace {

// The sum over all that a step shows.
class FiniteFlag final : public StepWatch {
 public:
  void loss(const Tensor& loss) override { sum_.add(loss); }
  void gradients(const std::vector<Variable>&, const std::vector<Tensor>& gradients) override {
    for (const Tensor& gradient : gradients) {
      if (gradient.defined()) sum_.add(gradient);
    }
  }
  void updated(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables) {
      if (is_float(variable.dtype())) sum_.add(variable.state()->read());
    }
  }
  Tensor value() const { return sum_.value(); }

 private:
  FiniteSum sum_;
};

bool holds(const Tensor& flag) { return flag.item<float>() == 0; }

// Assignments of eager calls.
class EagerTransaction final : public Assignments, Recorder {
  // Being recorded, traced functions inside assign their variables one by one as well.
  void record(const Call&, std::span<const Tensor>) override {}
};

}  // namespace

TrainStep::TrainStep(Body body, Options options)
    : body_(std::move(body)),
      options_(std::move(options)),
      traced_([this](std::span<const Tensor> arguments) { return flags(arguments); },
              {.name = options_.name}) {}

Tensors TrainStep::flags(std::span<const Tensor> arguments) const {
  const BuildTransaction transaction;
  FiniteFlag finite;
  const Tensor kept = body_(arguments, options_.checks ? &finite : nullptr);
  Tensors out;
  if (options_.checks) out.push_back(finite.value());
  if (options_.may_skip) out.push_back(kept);
  return out;
}

bool TrainStep::call(std::span<const Tensor> arguments, std::span<const int64_t> numbers) const {
  const std::optional<StepRows> counted = only_counted_rows(arguments, numbers);
  if (counted) {
    arguments = counted->arguments;
    numbers = counted->numbers;
  }
  const SomeRowsCount mode(counted && Running::model()->rows_are_coupled());
  bool finite = true, kept = true;
  const auto accept = [&](std::span<const Tensor> flags) {
    if (options_.checks) finite = holds(flags.front());
    if (options_.may_skip) kept = holds(flags.back());
    return finite && kept;
  };
  if (options_.eager) {
    EagerTransaction transaction;
    if (accept(flags(arguments))) transaction.keep();
  } else if (options_.checks || options_.may_skip) {
    traced_.call_if(arguments, accept);
  } else {
    traced_.call(arguments);
  }
  if (finite) return kept;
  const EagerTransaction transaction;
  Culprit culprit(arguments, numbers, options_.labels);
  body_(arguments, &culprit);
  culprit.give_up();
}

void TrainStep::make_variables(std::span<const Tensor> arguments) const {
  if (!options_.eager) {
    traced_.graph(arguments);
    return;
  }
  const EagerTransaction transaction;
  body_(arguments, nullptr);
}

}  // namespace espalier
