// Saved models that are loaded and trained on several replicas: what one device learns, or what the file
// lacks.
#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/control.h"
#include "espalier/saved_model.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

Tensor rows_to_load() { return random_normal({45, 6}, 1, 0); }
Tensor labels_to_load() { return convert(reduce_sum(rows_to_load(), {1}) > 0, DType::kI32); }

// Trained for an epoch and saved in a folder of this test alone.
std::string saved_folder(const std::string& name, Sequential model) {
  const char* const test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string folder = fresh_folder(cat(name, "_", test)) + "/model";
  set_seed(2);
  model.compile({.optimizer = SGD{.learning_rate = 0.1}});
  model.fit(rows_to_load(), labels_to_load(), {.epochs = 1, .batch_size = 15});
  model.save(folder);
  return folder;
}

using Train = std::function<std::vector<float>(Model&, const Strategy&, int64_t batch)>;

// Losses, and the weights behind them, in an order that all models have.
std::vector<float> learned_by(const Model& model, std::vector<float> losses) {
  std::map<std::string, std::vector<float>> sorted;
  for (const Variable& variable : model.variables())
    if (is_float(variable.dtype()))
      sorted[variable.path().substr(variable.path().find('/') + 1)] = numbers(variable.read());
  for (const auto& [path, values] : sorted) losses.insert(losses.end(), values.begin(), values.end());
  return losses;
}

std::vector<float> by_fit(Model& model, const Strategy&, int64_t batch) {
  model.compile({.optimizer = SGD{.learning_rate = 0.1}});
  std::vector<float> losses;
  for (const Logs& logs : model.fit(rows_to_load(), labels_to_load(), {.epochs = 2, .batch_size = batch}))
    losses.push_back(static_cast<float>(logs.at("loss")));
  return learned_by(model, losses);
}

std::vector<float> by_run(Model& model, const Strategy& strategy, int64_t batch) {
  Optimizer optimizer(SGD{.learning_rate = 0.1});
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) {
        const TrainingScope training(true);
        GradientTape tape;
        const LossSums sums = loss.sums(labels, model(rows));
        const Tensor weight = strategy::all_reduce({sums.weight})[0];
        const auto weights = model.trainable_variables();
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / weight, weights)), weights);
        return sums.sum;
      },
      {.name = "step"});
  std::vector<float> losses;
  DistributedDataset batches = strategy.distribute(
      Dataset::from_tensor_slices({rows_to_load(), labels_to_load()}).shuffle(45).batch(batch).repeat(2));
  while (const auto part = batches.next())
    losses.push_back(strategy.reduce(ReduceOp::kSum, strategy.run(step, *part)[0]).item<float>());
  return learned_by(model, losses);
}

Loop trains_loaded(const std::string& folder, const Train& train, int64_t batch) {
  return [=](const Strategy& strategy) {
    const auto scope = strategy.scope();
    set_seed(5);
    LoadedModel model = load_model(folder);
    return train(model, strategy, batch);
  };
}

Sequential normalized_model() {
  return Sequential{Dense({.units = 8, .activation = "relu"}), BatchNormalization({.synchronized = true}),
                    Dense({.units = 2})};
}
std::string normalized_folder() { return saved_folder("loaded_normalized", normalized_model()); }

std::string raised_by(const Loop& loop, const Strategy& strategy) {
  try {
    loop(strategy);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(LoadedReplicas, WhatTheFileLacksOfBatchNormalizationIsSaid) {
  const std::string folder = normalized_folder();
  for (const Train& train : {Train(by_fit), Train(by_run)}) {
    const Loop loop = trains_loaded(folder, train, 15);
    std::vector<std::string> errors = errors_of_workers(2, loop);
    errors.push_back(raised_by(loop, strategy::Mirrored({.devices = 3})));
    errors.push_back(raised_by(loop, strategy::OneDevice({.logical_shards = 2})));
    if (!pjrt::test_plugin().empty() && pjrt::tests_have_cpu_devices(8)) {
      const DeviceScope device(pjrt::test_plugin());
      errors.push_back(raised_by(loop, strategy::Mirrored({.devices = 3})));
    }
    for (const std::string& error : errors)
      for (const std::string& part :
           {std::string("UnsupportedError[loaded_model.replicas]"), std::string("loaded_replicas_test.cc:"),
            std::string("/moving_mean\""), cat("load_weights(model, \"", folder, "/weights.safetensors\")")})
        EXPECT_NE(error.find(part), std::string::npos) << error;
    // Where no other has rows.
    EXPECT_EQ(raised_by(loop, strategy::OneDevice()), "");
    on_each_worker(1, loop);
  }
}

// What is said to be done: on any number of replicas as the loaded model on one device.
TEST(LoadedReplicas, ItsWeightsInTheLayersTrainAsOnOneDevice) {
  const std::string folder = normalized_folder();
  for (const Train& train : {Train(by_fit), Train(by_run)}) {
    const Loop in_layers = [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      set_seed(5);
      Sequential model = normalized_model();
      model.predict(rows_to_load());
      EXPECT_EQ(load_weights(model, folder + "/weights.safetensors"), std::vector<std::string>());
      return train(model, strategy, 15);
    };
    const std::vector<float> wanted = trains_loaded(folder, train, 15)(strategy::OneDevice());
    const std::vector<float> found = in_layers(strategy::OneDevice());
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6) << i;
    expect_as_on_one_device(in_layers, 4e-6);
  }
}

// Frozen, it normalizes by its averages, and what stands behind it is trained.
TEST(LoadedReplicas, FrozenItServesALayerThatIsTrained) {
  const std::string folder = normalized_folder();
  for (const Train& train : {Train(by_fit), Train(by_run)})
    expect_as_on_one_device(
        [&](const Strategy& strategy) {
          const auto scope = strategy.scope();
          set_seed(5);
          LoadedModel loaded = load_model(folder);
          loaded.set_trainable(false);
          Sequential model{loaded, Dense({.units = 2})};
          model.predict(rows_to_load());
          return train(model, strategy, 14);
        },
        4e-6);
}

// A replica may have no rows of the last batch.
TEST(LoadedReplicas, DropsWhatOneDeviceDrops) {
  const std::string folder =
      saved_folder("loaded_dropout",
                   Sequential{Dense({.units = 8, .activation = "relu"}), Dropout(0.5), Dense({.units = 2})});
  for (const Train& train : {Train(by_fit), Train(by_run)})
    for (const int64_t batch : {15, 11}) {
      SCOPED_TRACE(batch);
      expect_as_on_one_device(trains_loaded(folder, train, batch), 4e-6);
    }
}

// Where the place of rows would have to be told inside of a program within the program.
TEST(LoadedReplicas, DrawsInALoopAreRefusedByName) {
  struct DropsTwice : Layer {
    DropsTwice() : Layer("drops_twice") {}
    Tensor call(const Tensor& x) override {
      if (!TrainingScope::current()) return x;
      const Tensor key = default_generator().key(), step = default_generator().next_step();
      return scan(
                 [&](std::span<const Tensor> carry, std::span<const Tensor>) -> ScanResult {
                   return {{dropout(carry[0], 0.5, key, step)}, {}};
                 },
                 {x}, {}, {.length = 2})
          .carry[0];
    }
  };
  const std::string folder =
      saved_folder("loaded_loop", Sequential{Dense({.units = 4}), DropsTwice(), Dense({.units = 2})});
  for (const Train& train : {Train(by_fit), Train(by_run)}) {
    const Loop loop = trains_loaded(folder, train, 15);
    EXPECT_EQ(raised_by(loop, strategy::OneDevice()), "");
    const std::string error = raised_by(loop, strategy::Mirrored({.devices = 2}));
    for (const char* part : {"UnsupportedError[loaded_model.replicas]", "inside of scan", "load_weights()"})
      EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace espalier
