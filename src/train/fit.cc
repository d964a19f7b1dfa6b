#include <algorithm>

#include "espalier/tape.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "train/backup.h"
#include "train/fit_rows.h"
#include "train/step.h"

namespace espalier {
namespace {

// Remembers which class numbers `y` holds, and checks them against outputs that are known already.
template <class Training>
void take_labels(Training& training, const char* rule, const Tensor& y) {
  auto& range = training.labels;
  range = {rule};
  if (!training.options.loss.class_labels || !is_integer(y.dtype())) return;
  const Tensor wide = convert(y, DType::kI64);
  const auto values = wide.template data<int64_t>();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (least == values.end()) return;
  const int64_t a_row = y.type().elements() / y.size(0);
  range = {rule, *least, *most, (least - values.begin()) / a_row, (most - values.begin()) / a_row};
  training.check_labels();
}

// The arguments of a step.
struct Parts {
  std::span<const Tensor> x;
  const Tensor &y, &row_weight;
};
Parts parts(std::span<const Tensor> in) {
  return {in.first(in.size() - 2), in[in.size() - 2], in[in.size() - 1]};
}

}  // namespace

Model& Callback::model() {
  Model* const running = Running::model();
  if (!running) throw StateError("callback.model", "a callback has a model while fit() calls its hooks");
  return *running;
}

Model::Shared::Shared()
    : forward(
          [](std::span<const Tensor> in) -> std::vector<Tensor> {
            TrainingScope mode(false);
            return Running::model()->apply(Tensors(in.begin(), in.end()));
          },
          {.name = "predict"}) {}

Model::Model(std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), shared_(std::make_shared<Shared>()) {}

void Model::compile(ModelOptions options, Location at) {
  const CallScope scope(at);
  auto next = std::make_shared<Training>(std::move(options));
  Training& training = *next;
  const auto losses_of = [&training](std::span<const Tensor> x, const Tensor& y, Tensor& outputs) {
    outputs = (*Running::model())(Tensors(x.begin(), x.end()));
    if (is_float(outputs.dtype())) outputs = convert(outputs, DType::kF32);
    if (training.options.loss.class_labels && outputs.rank() > 0) {
      training.classes = outputs.size(-1);
      training.check_labels();
    }
    Tensor losses = training.options.loss.per_example(y, outputs);
    if (losses.shape() != Shape{x[0].size(0)}) {
      throw ShapeError("loss.shape", cat("loss \"", training.options.loss.name,
                                         "\" must give one value per row: ", losses.type()));
    }
    for (const Tensor& penalty : Running::model()->losses()) losses += penalty;
    return losses;
  };
  training.train_step = std::make_unique<TracedFunction>(
      [losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        const BuildTransaction transaction;
        TrainingScope mode(true);
        GradientTape tape;
        const auto [x, y, row_weight] = parts(in);
        Tensor outputs;
        const Tensor losses = losses_of(x, y, outputs);
        const Tensor loss =
            reduce_sum(losses * row_weight, {0}) / maximum(reduce_sum(row_weight, {0}), 1e-12);
        const std::vector<Variable> weights = Running::model()->trainable_variables();
        const std::vector<Tensor> gradients = tape.gradient(loss, weights);
        for (const Variable& read : tape.watched_variables()) {
          const auto same = [&](const Variable& own) { return own.state() == read.state(); };
          if (std::none_of(weights.begin(), weights.end(), same)) {
            throw StateError("fit.variable",
                             cat("the model reads the trainable variable \"", read.path(),
                                 "\", which is none of its own, so it would not be trained"),
                             "make it in build() with add_weight, or set_trainable(false)");
          }
        }
        training.observe(losses, y, outputs, row_weight);
        // Last: a step that is refused leaves no slots.
        training.options.optimizer.apply(gradients, weights);
        return {};
      },
      FunctionOptions{.name = "train_step"});
  training.test_step = std::make_unique<TracedFunction>(
      [losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        const BuildTransaction transaction;
        TrainingScope mode(false);
        const auto [x, y, row_weight] = parts(in);
        Tensor outputs;
        const Tensor losses = losses_of(x, y, outputs);
        training.observe(losses, y, outputs, row_weight);
        return {};
      },
      FunctionOptions{.name = "test_step"});
  shared_->training = std::move(next);
}

void Model::Training::check_labels() const {
  if (classes < 0 || (labels.least >= 0 && labels.most < classes)) return;
  const bool low = labels.least < 0;
  throw ValueError(
      labels.rule,
      cat("label ", low ? labels.least : labels.most, " of row ", low ? labels.least_row : labels.most_row,
          " is no class: the outputs have ", classes, ", numbered from 0"),
      classes == 1 ? "give the last layer one unit for each class" : "");
}

std::shared_ptr<Model::Training> Model::training(const char* rule) const {
  if (!shared_->training) throw StateError(rule, "the model is not compiled", "call compile() first");
  return shared_->training;
}

Optimizer Model::optimizer() const { return training("model.compile")->options.optimizer; }

void Model::stop_training() { shared_->stop = true; }

std::vector<Logs> Model::fit(const TensorList& x, const Tensor& y, const FitOptions& options, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("fit.compile");
  const FitRows rows(x, y, options);
  const bool validates = rows.validation.count > 0;
  if (options.validation_y.defined()) take_labels(*training, "fit.validation_labels", options.validation_y);
  take_labels(*training, "fit.labels", y);

  Passes passes(rows.training, options);
  const int64_t steps = options.steps_per_epoch ? options.steps_per_epoch : passes.batches();
  Callback::Run run{options.epochs, steps, passes.examples(steps), options.initial_epoch};
  for (const auto& [name, value] : training->logs()) {
    run.logs.push_back(name);
    if (validates) run.logs.push_back("val_" + name);
  }
  Backups backups(options, rows.training, run);
  FitPosition now{options.initial_epoch};
  const auto variables = [&] { return training->variables(*this); };
  if (backups.found()) {
    const BuildTransaction transaction;
    const std::span<const Tensor> arguments = passes.next();
    // Traced, they make the variables that the checkpoint has values for.
    training->test_step->graph(arguments);
    backups.require(variables(), false);
    training->train_step->graph(arguments);
    backups.require(variables(), true);
    now = backups.position();
    run.initial_epoch = now.epoch;
  }
  shared_->stop = now.stopped;
  for (const auto& callback : options.callbacks) callback->on_train_begin(run);
  const auto begin_epoch = [&] {
    for (const auto& callback : options.callbacks) callback->on_epoch_begin(now.epoch);
  };
  if (backups.found()) {
    if (now.step > 0) begin_epoch();
    backups.restore(variables());
    passes.seek(now.epoch * steps + now.step);
  }
  bool interrupted = false;
  for (; now.epoch < options.epochs && !shared_->stop; ++now.epoch, now.step = 0) {
    if (now.step == 0) {
      begin_epoch();
      training->reset();
    }
    const Logs not_due;
    Logs logs = training->logs();
    while (now.step < steps && !shared_->stop) {
      training->train_step->call(passes.next());
      const int64_t step = ++now.step;
      const bool due = step % 8 == 1 && !options.callbacks.empty();
      if (due) training->refresh(logs);
      for (const auto& callback : options.callbacks) callback->on_batch_end(step, due ? logs : not_due);
      if (backups.due_after_step(now.epoch * steps + step)) backups.save(variables(), now);
    }
    interrupted = shared_->stop;
    if (interrupted && backups.used()) backups.save(variables(), now);
    training->refresh(logs);
    if (validates) {
      if (options.validation_y.defined())
        take_labels(*training, "fit.validation_labels", options.validation_y);
      for (const auto& [name, value] : training->test(rows.validation, options.batch_size))
        logs["val_" + name] = value;
    }
    for (const auto& callback : options.callbacks) callback->on_epoch_end(now.epoch, logs);
    now.history.push_back(std::move(logs));
    if (!interrupted && backups.due_after_epoch())
      backups.save(variables(), {now.epoch + 1, 0, shared_->stop, now.history});
  }
  for (const auto& callback : options.callbacks)
    callback->on_train_end(now.history.empty() ? Logs{} : now.history.back());
  if (!interrupted) backups.end();
  return now.history;
}

Logs Model::train_on_batch(const TensorList& x, const Tensor& y, const Tensor& sample_weight, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("train_on_batch.compile");
  const Rows rows = rows_of("train_on_batch", x, y, sample_weight);
  take_labels(*training, "train_on_batch.labels", y);
  training->reset();
  Tensors arguments = rows.arrays;
  if (!rows.weighted) arguments.push_back(full({rows.count}, 1));
  training->train_step->call(arguments);
  return training->logs();
}

Logs Model::evaluate(const TensorList& x, const Tensor& y, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("evaluate.compile");
  const Rows rows = rows_of("evaluate", x, y);
  check_batch_size("evaluate", batch_size);
  take_labels(*training, "evaluate.labels", y);
  return training->test(rows, batch_size);
}

Tensor Model::predict(const TensorList& x, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const BuildTransaction transaction;
  Tensors outputs = predict_all(x, batch_size, at);
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
  const std::vector<int64_t> order = rows.numbers();
  std::vector<Tensors> parts;
  Batches batches(rows.arrays, order, batch_size);
  while (batches.next()) parts.push_back(shared_->forward.call(batches.rows()));
  return join_rows(parts, rows.count, batch_size);
}

Logs Model::Training::test(const Rows& rows, int64_t batch_size) {
  reset();
  const std::vector<int64_t> order = rows.numbers();
  Batches batches(rows.arrays, order, batch_size);
  while (batches.next()) test_step->call(rows.weighted ? batches.rows() : batches.rows_and_ones());
  return logs();
}

}  // namespace espalier
