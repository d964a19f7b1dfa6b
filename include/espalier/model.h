// Models: compile, fit, evaluate, predict.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "espalier/layers.h"
#include "espalier/optimizers.h"

namespace espalier {

// Losses of single examples: (labels, outputs) -> f[batch].
struct Loss {
  std::string name;
  std::function<Tensor(const Tensor& labels, const Tensor& outputs)> per_example;
};
struct CrossentropyOptions {
  bool from_logits = false;  // outputs are unnormalised logits, not probabilities
};
// Labels are class numbers i[batch], outputs f[batch, classes]. Raises ShapeError for labels of another
// shape.
Loss SparseCategoricalCrossentropy(CrossentropyOptions options = {});

using Logs = std::map<std::string, double>;

// Sees a training run. All hooks default to nothing.
class Callback {
 public:
  virtual ~Callback() = default;
  struct Run {
    int epochs = 0;
    int64_t steps_per_epoch = 0;
    int64_t examples = 0;
  };
  virtual void on_train_begin(const Run&) {}
  virtual void on_epoch_begin(int) {}
  virtual void on_batch_end(int64_t, const Logs&) {}  // logs of the epoch so far; empty when not due
  virtual void on_epoch_end(int, const Logs&) {}
  virtual void on_train_end(const Logs&) {}
};

// A progress bar with rate, time left and metrics on standard error; a line an epoch when that is no
// terminal.
std::shared_ptr<Callback> ConsoleProgress();

struct ModelOptions {
  Optimizer optimizer = Adam{};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  std::vector<std::string> metrics = {"accuracy"};  // known: "accuracy"
};

struct FitOptions {
  int epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  Tensor validation_x = {}, validation_y = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
};

// A layer that can be trained.
class Model : public Layer {
 public:
  explicit Model(std::string name = "model") : Layer(std::move(name)) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void compile(ModelOptions options = {});
  // Trains on rows of x and y (equal first axes). Loss and metrics of each epoch, "val_" ones where
  // validation data is given. The row order of every epoch follows from seed() alone. Raises
  // ShapeError[fit.rows], StateError[fit.compile].
  std::vector<Logs> fit(const Tensor& x, const Tensor& y, const FitOptions& options = {});
  // Loss and metrics over all rows.
  Logs evaluate(const Tensor& x, const Tensor& y, int64_t batch_size = 256);
  // Outputs for all rows, in order.
  Tensor predict(const Tensor& x, int64_t batch_size = 256);

 private:
  struct Training;
  Training& training();
  std::shared_ptr<Training> training_;
};

// Layers one after another.
class Sequential : public Model {
 public:
  // Takes any layers, by value: Sequential{Flatten(), Dense({.units = 10})}.
  template <class... Layers>
  requires(std::is_base_of_v<Layer, Layers>&&...) explicit Sequential(Layers... layers)
      : Model("sequential"), layers_{std::make_shared<Layers>(std::move(layers))...} {}

 protected:
  Tensor call(const Tensor& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace espalier
