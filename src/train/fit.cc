#include <algorithm>
#include <numeric>

#include "base/philox.h"
#include "espalier/tape.h"
#include "ir/sink.h"
#include "train/step.h"

namespace espalier {
namespace {

void check_rows(const char* rule, const Tensor& x, const Tensor& y) {
  if (x.rank() == 0 || y.rank() == 0 || x.size(0) != y.size(0)) {
    throw ShapeError(rule, cat("x and y must have one row per example: ", x.type(), " and ", y.type()));
  }
  if (x.size(0) == 0) throw ShapeError(rule, cat("there are no rows: x is ", x.type()));
}

std::vector<int64_t> row_order(int64_t rows, bool shuffle, int epoch) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  if (!shuffle) return order;
  Philox random(seed(), static_cast<uint64_t>(epoch) + 1);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// Calls f(batch rows) for consecutive pieces of `order`.
template <class F>
void for_batches(std::span<const int64_t> order, int64_t batch_size, F f) {
  const auto step = static_cast<size_t>(batch_size);
  for (size_t begin = 0; begin < order.size(); begin += step)
    f(order.subspan(begin, std::min(step, order.size() - begin)));
}

}  // namespace

Tensor gather_rows(const Tensor& x, std::span<const int64_t> rows) {
  TensorType type = x.type();
  type.shape[0] = static_cast<int64_t>(rows.size());
  const size_t row_bytes = x.size(0) ? x.type().bytes() / static_cast<size_t>(x.size(0)) : 0;
  const auto* source = static_cast<const std::byte*>(x.bytes());
  Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(buffer.get() + i * row_bytes, source + static_cast<size_t>(rows[i]) * row_bytes, row_bytes);
  return make_concrete(Literal(std::move(type), std::move(buffer)));
}

void Model::compile(ModelOptions options) {
  auto next = std::make_shared<Training>(std::move(options));
  Training& training = *next;
  const auto losses_of = [this, &training](const Tensor& x, const Tensor& y, Tensor& outputs) {
    outputs = (*this)(x);
    Tensor losses = training.options.loss.per_example(y, outputs);
    if (losses.shape() != Shape{x.size(0)}) {
      throw ShapeError("loss.shape", cat("loss \"", training.options.loss.name,
                                         "\" must give one value per row: ", losses.type()));
    }
    return losses;
  };
  training.train_step = std::make_unique<Training::Step>(
      [this, losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        TrainingScope mode(true);
        GradientTape tape;
        Tensor outputs;
        const Tensor losses = losses_of(in[0], in[1], outputs);
        const Tensor loss = reduce_sum(losses * in[2], {0}) / maximum(reduce_sum(in[2], {0}), 1e-12);
        const std::vector<Variable> weights = trainable_variables();
        training.options.optimizer.apply(tape.gradient(loss, weights), weights);
        training.observe(losses, in[1], outputs, in[2]);
        return {};
      },
      FunctionOptions{.name = "train_step"});
  training.test_step = std::make_unique<Training::Step>(
      [losses_of, &training](std::span<const Tensor> in) -> std::vector<Tensor> {
        TrainingScope mode(false);
        Tensor outputs;
        const Tensor losses = losses_of(in[0], in[1], outputs);
        training.observe(losses, in[1], outputs, in[2]);
        return {};
      },
      FunctionOptions{.name = "test_step"});
  training.forward = std::make_unique<Training::Forward>(
      [this](std::span<const Tensor> in) -> std::vector<Tensor> {
        TrainingScope mode(false);
        return {(*this)(in[0])};
      },
      FunctionOptions{.name = "predict"});
  training_ = std::move(next);
}

Model::Training& Model::training() {
  if (!training_) throw StateError("fit.compile", "the model is not compiled", "call compile() first");
  return *training_;
}

std::vector<Logs> Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options) {
  Training& training = this->training();
  check_rows("fit.rows", x, y);
  if (options.epochs < 0 || options.batch_size < 1) {
    throw ValueError("fit.options", cat("epochs must not be negative and batch_size positive: ",
                                        options.epochs, " and ", options.batch_size));
  }
  const int64_t rows = x.size(0);
  const Callback::Run run{options.epochs, (rows + options.batch_size - 1) / options.batch_size, rows};
  for (const auto& callback : options.callbacks) callback->on_train_begin(run);
  std::vector<Logs> history;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    for (const auto& callback : options.callbacks) callback->on_epoch_begin(epoch);
    training.reset();
    const std::vector<int64_t> order = row_order(rows, options.shuffle, epoch);
    int64_t step = 0;
    for_batches(order, options.batch_size, [&](std::span<const int64_t> batch) {
      (*training.train_step)(gather_rows(x, batch), gather_rows(y, batch),
                             full({static_cast<int64_t>(batch.size())}, 1));
      ++step;
      for (const auto& callback : options.callbacks)
        callback->on_batch_end(step, step % 8 ? Logs{} : training.logs());
    });
    Logs logs = training.logs();
    if (options.validation_x.defined()) {
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

Logs Model::evaluate(const Tensor& x, const Tensor& y, int64_t batch_size) {
  Training& training = this->training();
  check_rows("evaluate.rows", x, y);
  training.reset();
  for_batches(row_order(x.size(0), false, 0), batch_size, [&](std::span<const int64_t> batch) {
    (*training.test_step)(gather_rows(x, batch), gather_rows(y, batch),
                          full({static_cast<int64_t>(batch.size())}, 1));
  });
  return training.logs();
}

Tensor Model::predict(const Tensor& x, int64_t batch_size) {
  Training& training = this->training();
  std::vector<Tensor> parts;
  for_batches(row_order(x.size(0), false, 0), batch_size, [&](std::span<const int64_t> batch) {
    parts.push_back((*training.forward)(gather_rows(x, batch)));
  });
  if (parts.empty()) throw ShapeError("predict.rows", cat("there are no rows: x is ", x.type()));
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

Tensor Sequential::call(const Tensor& x) {
  Tensor value = x;
  for (const auto& layer : layers_) value = (*layer)(value);
  return value;
}

}  // namespace espalier
