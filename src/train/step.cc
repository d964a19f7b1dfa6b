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

TrainStep::TrainStep(Body eager, std::unique_ptr<StepProgram> traced, Options options)
    : eager_(std::move(eager)),
      traced_(std::move(traced)),
      options_(std::move(options)),
      pads_(traced_->pads()) {}

TrainStep::Flags TrainStep::run_traced(const BatchRows& batch) const {
  const std::vector<Tensor> flags = traced_->run(batch);
  Flags out;
  if (!options_.of_skipped.empty()) out.kept = holds(flags.front());
  if (options_.checks) out.finite = holds(flags.back());
  return out;
}

TrainStep::Flags TrainStep::run_eagerly(std::span<const Tensor> arguments) const {
  const BuildTransaction building;
  EagerTransaction transaction;
  FiniteFlag finite;
  const Tensor skipped = eager_(arguments, options_.checks ? &finite : nullptr);
  Flags out;
  if (options_.checks) out.finite = holds(finite.value());
  if (skipped.defined()) out.kept = holds(skipped);
  if (out.finite && out.kept) transaction.keep();
  if (out.finite) transaction.keep(options_.of_skipped);
  return out;
}

bool TrainStep::call(const BatchRows& batch, std::span<const int64_t> numbers) const {
  std::span<const Tensor> arguments = batch.rows;
  std::vector<Tensor> padded;
  if (pads_) padded = traced_->padded(batch);
  if (!padded.empty()) arguments = padded;
  const std::optional<StepRows> counted = only_counted_rows(arguments, numbers);
  if (counted) {
    arguments = counted->arguments;
    numbers = counted->numbers;
  }
  const SomeRowsCount mode(counted && Running::model()->rows_are_coupled());
  const Flags flags = options_.eager ? run_eagerly(arguments) : run_traced({arguments, batch.of_shards});
  if (flags.finite) return flags.kept;
  const EagerTransaction undone;
  Culprit culprit(arguments, numbers, options_.labels);
  eager_(arguments, &culprit);
  culprit.give_up();
}

void TrainStep::make_variables(const BatchRows& batch) const {
  if (!options_.eager) {
    // A replica without rows would make a model of none.
    const std::vector<Tensor> padded = pads_ ? traced_->padded(batch) : std::vector<Tensor>();
    traced_->make_variables(padded.empty() ? batch : BatchRows(padded, batch.of_shards));
    return;
  }
  const BuildTransaction building;
  const EagerTransaction undone;
  eager_(batch.rows, nullptr);
}

std::shared_ptr<const Graph> TrainStep::graph(std::span<const Tensor> arguments,
                                              const std::string& after) const {
  return traced_->graph(arguments, after);
}

}  // namespace espalier
