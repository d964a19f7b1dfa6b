#include <algorithm>
#include <numeric>

#include "base/philox.h"
#include "espalier/tape.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "train/batches.h"
#include "train/step.h"

namespace espalier {
namespace {

void check_rows(const char* rule, const Tensor& x, const Tensor& y) {
  if (x.rank() == 0 || y.rank() == 0 || x.size(0) != y.size(0)) {
    throw ShapeError(rule, cat("x and y must have one row per example: ", x.type(), " and ", y.type()));
  }
  if (x.size(0) == 0) throw ShapeError(rule, cat("there are no rows: x is ", x.type()));
}

void check_batch_size(const std::string& verb, int64_t batch_size) {
  if (batch_size < 1)
    throw ValueError(cat(verb, ".batch_size"), cat("batch_size must be positive, got ", batch_size));
}

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

// The copy of a model that this thread runs: its steps belong to all copies, so they hold none.
thread_local Model* running = nullptr;
class Running {
 public:
  explicit Running(Model& model) : before_(std::exchange(running, &model)) {}
  ~Running() { running = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Model* before_;
};

// The type of one row.
TensorType row_of(const Tensor& x) {
  return {x.dtype(), Shape(std::vector<int64_t>(x.shape().begin() + 1, x.shape().end()))};
}

std::vector<int64_t> row_order(int64_t rows, bool shuffle, int epoch) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  if (!shuffle) return order;
  Philox random(seed(), static_cast<uint64_t>(epoch) + 1);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

Model::Shared::Shared()
    : forward(
          [](std::span<const Tensor> in) -> std::vector<Tensor> {
            TrainingScope mode(false);
            return {(*running)(in[0])};
          },
          {.name = "predict"}) {}

void Model::expect_rows(const TensorType& row, int64_t batch) {
  shared_->input = {row.dtype, row.shape, batch};
}

Model::Model(std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), shared_(std::make_shared<Shared>()) {}

void Model::compile(ModelOptions options, Location at) {
  const CallScope scope(at);
  auto next = std::make_shared<Training>(std::move(options));
  Training& training = *next;
  const auto losses_of = [&training](const Tensor& x, const Tensor& y, Tensor& outputs) {
    outputs = (*running)(x);
    if (is_float(outputs.dtype())) outputs = convert(outputs, DType::kF32);
    if (training.options.loss.class_labels && outputs.rank() > 0) {
      training.classes = outputs.size(-1);
      training.check_labels();
    }
    Tensor losses = training.options.loss.per_example(y, outputs);
    if (losses.shape() != Shape{x.size(0)}) {
      throw ShapeError("loss.shape", cat("loss \"", training.options.loss.name,
                                         "\" must give one value per row: ", losses.type()));
    }
    for (const Tensor& penalty : running->losses()) losses += penalty;
    return losses;
  };
  training.train_step = std::make_unique<Training::Step>(
      [losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        const BuildTransaction transaction;
        TrainingScope mode(true);
        GradientTape tape;
        Tensor outputs;
        const Tensor losses = losses_of(in[0], in[1], outputs);
        const Tensor loss = reduce_sum(losses * in[2], {0}) / maximum(reduce_sum(in[2], {0}), 1e-12);
        const std::vector<Variable> weights = running->trainable_variables();
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
        training.observe(losses, in[1], outputs, in[2]);
        // Last: a step that is refused leaves no slots.
        training.options.optimizer.apply(gradients, weights);
        return {};
      },
      FunctionOptions{.name = "train_step"});
  training.test_step = std::make_unique<Training::Step>(
      [losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        const BuildTransaction transaction;
        TrainingScope mode(false);
        Tensor outputs;
        const Tensor losses = losses_of(in[0], in[1], outputs);
        training.observe(losses, in[1], outputs, in[2]);
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

std::vector<Logs> Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("fit.compile");
  check_rows("fit.rows", x, y);
  check_batch_size("fit", options.batch_size);
  if (options.epochs < 0)
    throw ValueError("fit.epochs", cat("epochs must not be negative, got ", options.epochs));
  if (options.validation_x.defined() != options.validation_y.defined()) {
    throw ValueError("fit.validation", cat("validation_x and validation_y come together, validation_",
                                           options.validation_x.defined() ? "y" : "x", " is missing"));
  }
  for (const auto& callback : options.callbacks) {
    if (!callback) throw ValueError("fit.callbacks", "a callback is null");
  }
  const bool validates = options.validation_x.defined();
  if (validates) {
    check_rows("fit.validation", options.validation_x, options.validation_y);
    take_labels(*training, "fit.validation_labels", options.validation_y);
  }
  take_labels(*training, "fit.labels", y);

  expect_rows(row_of(x), std::min(options.batch_size, x.size(0)));
  const int64_t rows = x.size(0);
  const Callback::Run run{options.epochs, (rows - 1) / options.batch_size + 1, rows};
  for (const auto& callback : options.callbacks) callback->on_train_begin(run);
  std::vector<Logs> history;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    for (const auto& callback : options.callbacks) callback->on_epoch_begin(epoch);
    training->reset();
    const std::vector<int64_t> order = row_order(rows, options.shuffle, epoch);
    int64_t step = 0;
    const Logs not_due;
    Logs logs = training->logs();
    Batches batches({x, y}, order, options.batch_size);
    while (batches.next()) {
      (*training->train_step)(batches[0], batches[1], batches.ones());
      ++step;
      const bool due = step % 8 == 1 && !options.callbacks.empty();
      if (due) training->refresh(logs);
      for (const auto& callback : options.callbacks) callback->on_batch_end(step, due ? logs : not_due);
    }
    training->refresh(logs);
    if (validates) {
      for (const auto& [name, value] :
           evaluate(options.validation_x, options.validation_y, options.batch_size))
        logs["val_" + name] = value;
    }
    for (const auto& callback : options.callbacks) callback->on_epoch_end(epoch, logs);
    history.push_back(std::move(logs));
  }
  for (const auto& callback : options.callbacks)
    callback->on_train_end(history.empty() ? Logs{} : history.back());
  return history;
}

Logs Model::evaluate(const Tensor& x, const Tensor& y, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const std::shared_ptr<Training> training = this->training("evaluate.compile");
  check_rows("evaluate.rows", x, y);
  check_batch_size("evaluate", batch_size);
  take_labels(*training, "evaluate.labels", y);
  expect_rows(row_of(x), std::min(batch_size, x.size(0)));
  training->reset();
  const std::vector<int64_t> order = row_order(x.size(0), false, 0);
  Batches batches({x, y}, order, batch_size);
  while (batches.next()) (*training->test_step)(batches[0], batches[1], batches.ones());
  return training->logs();
}

Tensor Model::predict(const Tensor& x, int64_t batch_size, Location at) {
  const CallScope scope(at);
  const Running run_this(*this);
  const BuildTransaction transaction;
  check_batch_size("predict", batch_size);
  if (x.rank() == 0 || x.size(0) == 0)
    throw ShapeError("predict.rows", cat("there are no rows: x is ", x.type()));
  expect_rows(row_of(x), std::min(batch_size, x.size(0)));
  std::vector<Tensor> parts;
  const std::vector<int64_t> order = row_order(x.size(0), false, 0);
  Batches batches({x}, order, batch_size);
  while (batches.next()) {
    Tensor part = shared_->forward(batches[0]);
    TensorType expected = parts.empty() ? part.type() : parts[0].type();
    if (!expected.shape.empty()) expected.shape[0] = batches[0].size(0);
    if (part.rank() == 0 || part.type() != expected) {
      throw ShapeError("predict.rows", cat("outputs must have one row for each of ", batches[0].size(0),
                                           " rows of x, all alike: ", part.type()));
    }
    parts.push_back(std::move(part));
  }
  TensorType type = parts[0].type();
  type.shape[0] = x.size(0);
  Buffer buffer = allocate_buffer(type.bytes());
  size_t offset = 0;
  for (const Tensor& part : parts) {
    std::memcpy(buffer.get() + offset, part.bytes(), part.type().bytes());
    offset += part.type().bytes();
  }
  return make_concrete(Literal(std::move(type), std::move(buffer)));
}

void Sequential::append(std::shared_ptr<Layer> layer, Location at) {
  const CallScope scope(at);
  if (!path().empty())
    throw StateError("sequential.add", cat("\"", path(), "\" has been called: its layers are settled"));
  layers_.push_back(std::move(layer));
}

Tensor Sequential::call(const Tensor& x) {
  Tensor value = x;
  for (const auto& layer : layers_) value = (*layer)(value);
  return value;
}

}  // namespace espalier
