// One program that uses all that a loop of one's own has, and fit of the same model.
#pragma once

#include <string>
#include <utility>

#include "base/sha256.h"
#include "espalier/espalier.h"
#include "train/trained_weights_test.h"

namespace espalier {

// A layer of a user's own that draws.
struct OwnNoise final : Layer {
  OwnNoise() : Layer("own_noise") {}
  void build(const TensorType&) override { add_generator("noise"); }
  Tensor call(const Tensor& x) override {
    return TrainingScope::current() ? x + generator("noise").normal(x.shape()) * 0.1 : x;
  }
};

// What it learned: its variables, and the loss and accuracy of all that it saw.
struct WholeRun {
  TrainedWeights learned;
  std::string sha256;  // of the variables
};

// 20 updates, each of two batches; the last of five batches has fewer rows, which no number of replicas
// divides.
class WholeLoop {
 public:
  explicit WholeLoop(bool synchronized) : synchronized_(synchronized) {}

  WholeRun loop(const Strategy& strategy) const {
    const auto scope = strategy.scope();
    Sequential model = made();
    Optimizer optimizer = this->optimizer();
    Metric accuracy("accuracy");
    const auto step = function(
        [&](const Tensor& x, const Tensor& y) -> std::vector<Tensor> {
          const TrainingScope training(true);
          GradientTape tape;
          const Tensor outputs = model(x);
          const LossSums sums = loss_.sums(y, outputs);
          const auto weights = model.trainable_variables();
          const Tensor rows = strategy::all_reduce({sums.weight})[0];
          optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum, weights)), weights, {.weight = rows});
          accuracy.update(y, outputs);
          return strategy::all_reduce({sums.sum, sums.weight});
        },
        {.name = "step"});
    double sum = 0, rows = 0;
    DistributedDataset batches = strategy.distribute(data());
    while (const auto batch = batches.next()) {
      const std::vector<PerReplica> found = strategy.run(step, *batch);
      sum += static_cast<double>(found[0].values[0].item<float>());
      rows += static_cast<double>(found[1].values[0].item<float>());
    }
    return of(model, {{"loss", sum / rows}, {"accuracy", accuracy.result()}});
  }

  // On one device.
  WholeRun fit() const {
    Sequential model = made();
    model.compile({.optimizer = optimizer(), .loss = loss_, .metrics = {"accuracy"}});
    const std::vector<Logs> logs = model.fit(data(), {.epochs = 1});
    return of(model, {{"loss", logs[0].at("loss")}, {"accuracy", logs[0].at("accuracy")}});
  }

 private:
  Sequential made() const {
    set_seed(5);
    Sequential out{Dense({.units = 12, .activation = "tanh"}),
                   BatchNormalization({.synchronized = synchronized_}), OwnNoise(), Dropout(0.25),
                   Dense({.units = 3})};
    out.predict(x_);
    return out;
  }
  static Optimizer optimizer() {
    return SGD{.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 2};
  }
  Dataset data() const { return Dataset::from_tensor_slices({x_, y_}).batch(48).repeat(8); }
  static WholeRun of(const Model& model, Logs logs) {
    std::string bytes;
    for (const Variable& variable : model.variables()) {
      const Tensor value = variable.read();
      bytes.append(static_cast<const char*>(value.bytes()), value.type().bytes());
    }
    WholeRun out{trained_weights(model, std::move(logs)), sha256_of(bytes)};
    for (const auto& [name, value] : out.learned.logs) {
      out.learned.paths.push_back(name);
      out.learned.values.push_back({static_cast<float>(value)});
    }
    return out;
  }

  const bool synchronized_;
  const Tensor x_ = random_normal({229, 6}, 1, 0), y_ = argmax(matmul(x_, random_normal({6, 3}, 2, 0)), 1);
  const Loss loss_ = SparseCategoricalCrossentropy({.from_logits = true});
};

}  // namespace espalier
