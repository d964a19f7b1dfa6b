#include <algorithm>

#include "data/dataset_node.h"
#include "espalier/run_context.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "place/place_of.h"
#include "step/assignments.h"
#include "step/counted_rows.h"
#include "strategy/rows.h"
#include "strategy/same_elements.h"
#include "text/text.h"
#include "train/dataset_batches.h"
#include "train/fit_rows.h"
#include "train/own_sums.h"
#include "train/step.h"

namespace espalier {
namespace {

constexpr const char* kOfBatch = " of its batch";

// Workers evaluate with what each holds: it is to be the same.
void require_equal_workers(const char* verb, const Replicas* replicas, const Model& model,
                           std::span<const Tensor> rows = {}) {
  if (replicas) replicas->audits().require_equal_in(verb, model.variables(), rows);
}

// What is predicted is data for the caller, who computes here.
Tensors on_host(Tensors outputs) {
  for (Tensor& output : outputs) {
    if (output.node()->remote()) output = make_concrete(output.node()->dense());
  }
  return outputs;
}

}  // namespace

Model& Callback::model(Location at) {
  const CallScope scope(at);
  Model* const running = Running::model();
  if (!running) throw StateError("callback.model", "a callback has a model while fit() calls its hooks");
  return *running;
}

Model::Shared::Shared()
    : forward(
          [](std::span<const Tensor> x) {
            const TrainingScope mode(false);
            return Running::apply(x);
          },
          {.name = "predict"}) {}

std::shared_ptr<const Replicas> Model::Shared::sharers(int64_t rows) const {
  if (training && training->options.run_eagerly) return nullptr;
  // Of a loaded model nobody needs to compile the scope's.
  const std::shared_ptr<const Replicas> replicas = training ? training->replicas : current_replicas();
  return replicas && replicas->mesh().many() && rows >= replicas->mesh().world ? replicas : nullptr;
}

void Model::Shared::predict(std::span<const Tensor> x, PredictedRows& out) {
  const int64_t rows = x[0].size(0);
  if (training && training->options.run_eagerly) {
    const TrainingScope mode(false);
    training->bring_variables(*Running::model());
    return out.add(rows, on_host(Running::apply(where_variables_are(x))));
  }
  const std::shared_ptr<const Replicas> replicas = sharers(rows);
  if (!replicas) return out.add(rows, predict_alone(x));
  const std::vector<Tensors> of_ranks = replicas->run_rows(forward, x);
  for (int rank = 0; rank < replicas->mesh().world; ++rank) {
    const auto [first, last] = replicas->shares().rows_of(rows, rank);
    out.add(last - first, of_ranks[static_cast<size_t>(rank)]);
  }
}

std::optional<bool> Model::Shared::meet(std::span<const Tensor> x) {
  return rows_interact.answer([&] {
    std::optional<bool> out;
    if (!rows_differ(x)) return out;
    forward.graph(x);  // makes its variables, if there are none
    // The layers of the model note what runs them.
    forward.between_traces([&] { out = espalier::rows_interact(*Running::model(), x, false); });
    return out;
  });
}

// What the model refuses, it refuses of the rows that were given.
Tensors Model::Shared::predict_alone(std::span<const Tensor> x) {
  const int64_t rows = x[0].size(0), wanted = PlaceOf(RunContext::current())->rows().to_predict(rows);
  if (wanted == rows || meet(x) != false) return on_host(forward.call(x));
  Tensors out = on_host(forward.call(with_row_repeated(x, rows - 1, wanted)));
  for (Tensor& output : out) output = rows_between({&output, 1}, 0, rows)[0];
  return out;
}

Model::Model(std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), shared_(std::make_shared<Shared>()) {
  keep_input_count();
}

std::shared_ptr<Model::Training> Model::training(const char* rule) const {
  if (!shared_->training) throw StateError(rule, "the model is not compiled", "call compile() first");
  return shared_->training;
}

Optimizer Model::optimizer(Location at) const {
  const CallScope scope(at);
  return training("model.compile")->options.optimizer;
}

void Model::stop_training() { shared_->stop = true; }

std::vector<Logs> Model::fit(const TensorList& x, const TensorList& y, const FitOptions& options,
                             Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("fit.compile");
  const RunScope here(training->host());
  const Training::OwnSums sums(*training, shared_->stop, run_this);
  const FitRows rows(x, y, options);
  const Training::Validation validation = training->validation(rows.validation, options, shared_->ids);
  const Tensor weights = rows.training.weighted ? rows.training.arrays.back() : Tensor();
  training->take_labels("fit.labels", y, weights, "", options.class_weight);
  IdsCheck ids(shared_->ids, "fit.ids");
  ids.take(x.tensors(), weights);
  Passes passes(rows.training, options, RunContext::current().pool);
  return training->fit(passes, options, validation, shared_->stop, rows.notes);
}

std::vector<Logs> Model::fit(const Dataset& batches, const FitOptions& options, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("fit.compile");
  const RunScope here(training->host());
  const Training::OwnSums sums(*training, shared_->stop, run_this);
  IdsCheck ids(shared_->ids, "fit.ids", kOfBatch);
  const auto passes =
      training_batches(batches, options, input_names().size(), training->outputs.size(),
                       training->rows_check("fit.labels", ids, options.class_weight), training->shares());
  const Rows rows = validation_rows(options);
  return training->fit(*passes, options, training->validation(rows, options, shared_->ids), shared_->stop);
}

RowsCheck Model::Training::rows_check(const char* rule, IdsCheck& ids, const ClassWeight& class_weight) {
  return [this, rule, class_weight, &ids](std::span<const Tensor> x, const TensorList& y,
                                          const Tensor& weights) {
    take_labels(rule, y, weights, kOfBatch, class_weight);
    ids.take(x, weights);
  };
}

Model::Training::Validation Model::Training::validation(const Rows& rows, const FitOptions& options,
                                                        KnownIds& known) {
  constexpr const char *kLabels = "fit.validation_labels", *kIds = "fit.validation_ids";
  if (options.validation_data.defined()) {
    const auto logs = [this, &options, &known] {
      IdsCheck ids(known, kIds, kOfBatch);
      // They are known by now.
      const size_t inputs = Running::model()->input_types().size();
      DatasetBatches batches(options.validation_data, {.verb = "fit",
                                                       .rows_rule = "fit.validation",
                                                       .inputs = inputs,
                                                       .labels = outputs.size(),
                                                       .check = rows_check(kLabels, ids),
                                                       .shares = shares()});
      return test(batches);
    };
    return {logs};
  }
  if (rows.count == 0) return {};
  // Labels of a validation_split were taken with those before them.
  const auto take = [this, &rows, &options](IdsCheck& ids) {
    const Tensor weights = rows.weighted ? rows.arrays.back() : Tensor();
    if (options.validation_y.defined()) take_labels(kLabels, options.validation_y, weights);
    ids.take(std::span(rows.arrays).first(rows.arrays.size() - outputs.size() - rows.weighted), weights);
  };
  IdsCheck first(known, kIds);
  take(first);
  const auto logs = [this, &rows, &options, &known, take] {
    IdsCheck ids(known, kIds);
    take(ids);
    RowBatches batches(rows, options.batch_size, RunContext::current().pool);
    return test(batches);
  };
  return {logs, [&rows] { return content_of(rows); }};
}

Logs Model::train_on_batch(const TensorList& x, const TensorList& y, const Tensor& sample_weight,
                           Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("train_on_batch.compile");
  const RunScope here(training->host());
  const Training::OwnSums sums(*training, shared_->stop, run_this);
  const Rows rows = rows_of("train_on_batch", x, y, sample_weight);
  const Tensor weights = rows.weighted ? rows.arrays.back() : Tensor();
  training->take_labels("train_on_batch.labels", y, weights);
  IdsCheck ids(shared_->ids, "train_on_batch.ids");
  ids.take(x.tensors(), weights);
  Tensors arguments = rows.arrays;
  if (!rows.weighted) arguments.push_back(full({rows.count}, 1));
  if (training->replicas) require_same_rows(training->replicas->hosts(), "train_on_batch", arguments);
  Assignments reset;
  training->reset();
  if (some_row_counts(arguments.back()))
    training->train_step->call(arguments);
  else
    training->train_step->make_variables(arguments);
  reset.keep();
  return training->training_logs();
}

std::string Model::step_program(const TensorList& x, const TensorList& y, const std::string& after,
                                Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("step_program.compile");
  const RunScope here(training->host());
  const Rows rows = rows_of("step_program", x, y, {});
  training->take_labels("step_program.labels", y, {});
  Tensors arguments = rows.arrays;
  arguments.push_back(full({rows.count}, 1));
  return print_program(*training->train_step->graph(arguments, after));
}

Logs Model::evaluate(const TensorList& x, const TensorList& y, int64_t batch_size, Location at) {
  return evaluate(x, y, EvaluateOptions{.batch_size = batch_size}, at);
}

Logs Model::evaluate(const TensorList& x, const TensorList& y, const EvaluateOptions& options, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("evaluate.compile");
  const RunScope here(training->host());
  const Training::OwnSums sums(*training, shared_->stop, run_this);
  if (options.weighted)
    throw ValueError("evaluate.weighted", "rows in memory have their weights in sample_weight");
  const Rows rows = rows_of("evaluate", x, y, options.sample_weight);
  check_batch_size("evaluate", options.batch_size);
  const Tensor weights = rows.weighted ? rows.arrays.back() : Tensor();
  training->take_labels("evaluate.labels", y, weights);
  IdsCheck ids(shared_->ids, "evaluate.ids");
  ids.take(x.tensors(), weights);
  require_equal_workers("evaluate", training->replicas.get(), *this, rows.arrays);
  RowBatches batches(rows, options.batch_size, RunContext::current().pool);
  return training->test(batches);
}

Logs Model::evaluate(const Dataset& batches, const EvaluateOptions& options, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("evaluate.compile");
  const RunScope here(training->host());
  const Training::OwnSums sums(*training, shared_->stop, run_this);
  if (options.sample_weight.defined()) refuse_beside_dataset("evaluate");
  IdsCheck ids(shared_->ids, "evaluate.ids", kOfBatch);
  DatasetBatches all(batches, {.verb = "evaluate",
                               .rows_rule = "evaluate.rows",
                               .known_inputs = input_names().size(),
                               .labels = training->outputs.size(),
                               .weighted = options.weighted,
                               .check = training->rows_check("evaluate.labels", ids),
                               .shares = training->shares()});
  require_equal_workers("evaluate", training->replicas.get(), *this);
  return training->test(all);
}

Tensor Model::predict(const TensorList& x, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const BuildTransaction transaction;
  return only_output(predict_all(x, batch_size, at));
}

Tensor Model::predict(const Dataset& batches, Location at) {
  const CallScope scope(at);
  const BuildTransaction transaction;
  return only_output(predict_all(batches, at));
}

Tensor Model::only_output(Tensors outputs) const {
  if (outputs.size() == 1) return std::move(outputs[0]);
  throw ValueError("layer.outputs",
                   cat("model \"", path(), "\" gives ", outputs.size(), " tensors where one is needed"),
                   "predict_all() gives all of them");
}

Tensors Model::predict_all(const TensorList& x, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const BuildTransaction transaction;
  check_batch_size("predict", batch_size);
  const Rows rows = rows_to_predict(x);
  IdsCheck ids(shared_->ids, "predict.ids");
  ids.take(x.tensors());
  require_equal_workers("predict", shared_->sharers(std::min(rows.count, batch_size)).get(), *this,
                        rows.arrays);
  const std::vector<int64_t> order = rows.numbers();
  PredictedRows out;
  Batches batches(rows.arrays, order, batch_size, RunContext::current().pool);
  while (batches.next())
    on_batch(batches.numbers().size(), rows.count, [&] { shared_->predict(batches.rows(), out); });
  return join_rows(out.parts, out.sizes);
}

Tensors Model::predict_all(const Dataset& batches, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const BuildTransaction transaction;
  require_end("predict", batches);
  const std::shared_ptr<const Replicas> sharers = shared_->sharers(std::numeric_limits<int64_t>::max());
  if (sharers && sharers->mesh().workers > 1 && DatasetNode::of(batches)->per_worker())
    throw ValueError("predict.per_worker",
                     cat("predict() gives all workers what the model says of all rows, and the rows of ",
                         batches, " are this worker's"),
                     "predict rows that all workers have, or outside of the strategy's scope");
  PredictedRows out;
  DatasetIterator iterator(batches, 0);
  IdsCheck ids(shared_->ids, "predict.ids", kOfBatch);
  while (std::optional<Tensors> element = iterator.next()) {
    const size_t inputs = input_types().size();
    if (inputs > 0 && inputs < element->size()) element->resize(inputs);
    rows_to_predict(*element);
    ids.take(*element);
    if (out.parts.empty())
      require_equal_workers("predict", shared_->sharers((*element)[0].size(0)).get(), *this, *element);
    shared_->predict(*element, out);
  }
  if (out.parts.empty())
    throw ShapeError("predict.rows", cat("there are no batches: ", batches, " is empty"));
  return join_rows(out.parts, out.sizes);
}

Logs Model::Training::test(StepBatches& batches) {
  bring_variables(*Running::model());
  reset();
  for (auto arguments = batches.next(); !arguments.empty(); arguments = batches.next()) {
    on_batch(batches.numbers().size(), batches.examples_per_epoch(), [&] {
      test_step->call({arguments, batches.rows_of_shards()}, batches.numbers());
    });
  }
  deferred_reads.take(logged());
  const DeferredReads::View view(deferred_reads);
  return logs();
}

}  // namespace espalier
