#include "train/step.h"

#include <algorithm>

#include "base/format.h"
#include "eager/row_weight.h"
#include "eager/trace.h"
#include "espalier/run_context.h"
#include "espalier/saved_model.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "ops/finite_sum.h"
#include "place/place_of.h"
#include "step/assignments.h"
#include "step/counted_rows.h"
#include "train/non_finite_tracer.h"

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

bool TrainStep::run_traced(const BatchRows& batch) const {
  const std::vector<Tensor> flags = traced_->run(batch);
  return !options_.checks || holds(flags.back());
}

bool TrainStep::run_eagerly(std::span<const Tensor> arguments) const {
  const BuildTransaction building;
  EagerTransaction transaction;
  FiniteFlag finite;
  const Tensor skipped = eager_(arguments, options_.checks ? &finite : nullptr);
  const bool is_finite = !options_.checks || holds(finite.value());
  const bool kept = !skipped.defined() || holds(skipped);
  if (is_finite && kept) transaction.keep();
  if (is_finite && options_.of_skipped) transaction.keep(options_.of_skipped());
  return is_finite;
}

// Not every layer says it.
std::optional<bool> TrainStep::meet(const BatchRows& batch) const {
  const auto x = batch.rows.first(batch.rows.size() - options_.labels - 1);
  return rows_interact_.answer([&] { return rows_interact(*Running::model(), x, options_.trains); });
}

// Replicas need rows to be equally many, so they may be added unless they are known to count; else only where
// they are known not to.
bool TrainStep::may_add(const BatchRows& batch) const {
  if (pads_) return meet(batch) != true;
  // What a loaded program makes of its rows nobody knows.
  Model& model = *Running::model();
  return batch.count() > 0 && !model.rows_are_coupled() && !dynamic_cast<const LoadedModel*>(&model) &&
         meet(batch) == false;
}

// Rows behind the last would be of weight 0, and count where rows interact: then there are none.
void TrainStep::fill_up(BatchRows& rows, const BatchRows& given) const {
  const RowsPolicy policy = PlaceOf(RunContext::current())->rows();
  if (!policy.adds || options_.eager || !rows.of_shards.empty()) return;
  most_rows_ = std::max(most_rows_, rows.count());
  rows.at_least = policy.to_train(rows.count(), most_rows_);
  const auto adds = [&] {
    return given.count() < rows.count() || (pads_ ? traced_->adds_rows(rows) : rows.at_least > rows.count());
  };
  if (!adds() || may_add(given)) return;
  rows.at_least = 0;
  if (adds())
    throw UnsupportedError(
        "device.rows",
        cat(counted(static_cast<size_t>(given.count()), "row"), " cannot be split evenly over ",
            counted(static_cast<size_t>(traced_->replicas()), "device"),
            ", and this model's rows interact (e.g. batch statistics), so padding would "
            "change the result"),
        "a batch size that is a multiple of the number of devices (and drop_remainder), or a layer that "
        "overrides couples_rows() and leaves padding out by row_weight()");
}

void TrainStep::call(const BatchRows& batch, std::span<const int64_t> numbers) const {
  std::span<const Tensor> arguments = batch.rows;
  const std::vector<Tensor> padded = traced_->padded(batch);
  if (!padded.empty()) arguments = padded;
  const std::optional<StepRows> counted = only_counted_rows(arguments, numbers);
  if (counted) {
    arguments = counted->arguments;
    numbers = counted->numbers;
  }
  BatchRows rows(arguments, batch.of_shards);
  // A look at all layers.
  const bool coupled = (pads_ || counted) && Running::model()->rows_are_coupled();
  if (!coupled) fill_up(rows, batch);
  std::vector<Tensor> filled;
  if (!pads_ && rows.at_least > rows.count()) {
    filled = with_rows_of_no_weight(arguments, rows.at_least);
    rows = BatchRows(filled);
  }
  const SomeRowsCount mode(coupled && (counted || traced_->adds_rows(rows)));
  if (options_.eager ? run_eagerly(where_variables_are(arguments)) : run_traced(rows)) return;
  const EagerTransaction undone;
  const std::vector<Tensor> there = where_variables_are(arguments);
  NonFiniteTracer tracer(there, numbers, options_.labels);
  eager_(there, &tracer);
  tracer.give_up();
}

void TrainStep::make_variables(const BatchRows& batch) const {
  if (!options_.eager) {
    // A replica without rows would make a model of none.
    const std::vector<Tensor> padded = traced_->padded(batch);
    traced_->make_variables(padded.empty() ? batch : BatchRows(padded, batch.of_shards));
    return;
  }
  const BuildTransaction building;
  const EagerTransaction undone;
  const std::optional<StepRows> counted = only_counted_rows(batch.rows, {});
  eager_(where_variables_are(counted ? counted->arguments : batch.rows), nullptr);
}

std::shared_ptr<const Graph> TrainStep::graph(std::span<const Tensor> arguments,
                                              const std::string& after) const {
  return traced_->graph(arguments, after);
}

}  // namespace espalier
