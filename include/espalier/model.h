// Models: compile, fit, evaluate, predict.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "espalier/layers.h"
#include "espalier/losses.h"
#include "espalier/metrics.h"
#include "espalier/optimizers.h"

namespace espalier {

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
  // Logs of the epoch so far after its first step and every eighth from there; empty after the others.
  virtual void on_batch_end(int64_t, const Logs&) {}
  virtual void on_epoch_end(int, const Logs&) {}
  virtual void on_train_end(const Logs&) {}
};

// A progress bar with rate, time left and metrics on standard error; a line an epoch when that is no
// terminal.
std::shared_ptr<Callback> ConsoleProgress();

struct ModelOptions {
  Optimizer optimizer = Adam{};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  std::vector<Metric> metrics = {"accuracy"};
};

struct FitOptions {
  int epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  Tensor validation_x = {}, validation_y = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
};

struct SaveOptions {
  // Texts that travel with the model, by file name; LoadedModel::file gives them back.
  std::map<std::string, std::string> files = {};
};

// A layer that can be trained. A handle as any layer: copies share weights and what compile() made, and other
// layers and models may hold it.
class Model : public Layer {
 public:
  explicit Model(std::string name = "model", DTypePolicy dtype = {}, Location at = Location::here());
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;

  // Raises ValueError for two metrics of one name and a loss without a function.
  void compile(ModelOptions options = {}, Location at = Location::here());
  // Trains on rows of x and y (equal first axes). Loss and metrics of each epoch, "val_" ones where
  // validation data is given. The row order of every epoch follows from seed() alone. Raises
  // ShapeError[fit.rows], StateError[fit.compile], ValueError[fit.batch_size] for less than 1,
  // ValueError[fit.epochs] for less than 0, ValueError[fit.validation] when validation_x or validation_y is
  // missing, ValueError[fit.labels] for a class number that the outputs have no place for,
  // StateError[fit.variable] when the model reads a trainable variable that is not one of its own.
  std::vector<Logs> fit(const Tensor& x, const Tensor& y, const FitOptions& options = {},
                        Location at = Location::here());
  // Loss and metrics over all rows. Raises as fit does, under "evaluate".
  Logs evaluate(const Tensor& x, const Tensor& y, int64_t batch_size = 256, Location at = Location::here());
  // Outputs for all rows, in order, in the dtype of the last layer; needs no compile(). Raises
  // ShapeError[predict.rows] without rows or when outputs are not one row for each row of x,
  // ValueError[predict.batch_size] for less than 1.
  Tensor predict(const Tensor& x, int64_t batch_size = 256, Location at = Location::here());
  // Writes the folder `path` that load_model (saved_model.h) reads: weights, and the graphs of inference and
  // of training for any batch size, or, when the model computes otherwise for each, for that of its last
  // call. A saved model that is there is replaced in one step. Raises StateError[save.built] before the first
  // rows, IoError[save.path] when `path` is something else, ValueError[save.files].
  void save(const std::string& path, const SaveOptions& options = {}, Location at = Location::here());

 protected:
  // What save() writes the graphs for, until fit, evaluate or predict see rows.
  void expect_rows(const TensorType& row, int64_t batch);

 private:
  struct Training;
  struct Shared;
  std::shared_ptr<Training> training(const char* rule) const;
  std::shared_ptr<Shared> shared_;
};

// Layers one after another; each casts its input by its own dtype policy.
class Sequential : public Model {
 public:
  // Takes any layers, by value: Sequential{Flatten(), Dense({.units = 10})}.
  template <class... Layers>
  requires(std::is_base_of_v<Layer, Layers>&&...) explicit Sequential(Layers... layers)
      : Model("sequential"), layers_{std::make_shared<Layers>(std::move(layers))...} {
    keep_input_dtype();
  }
  // One more at the end. Raises StateError[sequential.add] after the first call.
  template <class L>
  requires(std::is_base_of_v<Layer, L>) Sequential& add(L layer, Location at = Location::here()) {
    append(std::make_shared<L>(std::move(layer)), at);
    return *this;
  }

 protected:
  Tensor call(const Tensor& x) override;

 private:
  void append(std::shared_ptr<Layer> layer, Location at);
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace espalier
