#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/saved_model.h"

namespace espalier {
namespace {

// The loss of epoch i is values[i], the weight 10 * i in it.
struct ModelCheckpointScripted {
  explicit ModelCheckpointScripted(const std::string& name) : folder(testing::TempDir() + "/" + name) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const Variable loss = this->loss;
    model.compile({.optimizer = SGD{.learning_rate = 0},
                   .loss = {"script",
                            [loss](const Tensor&, const Tensor& outputs) {
                              return reshape(outputs, {2}) * 0 + loss.read();
                            }},
                   .metrics = {}});
    model(full({2, 1}, 1));
  }
  void run(ModelCheckpointOptions options, const std::vector<double>& values) {
    options.path = folder + "/" + options.path;
    run(ModelCheckpoint(options), values);
  }
  void run(const std::shared_ptr<Callback>& callback, const std::vector<double>& values) {
    const auto script = LambdaCallback({.on_epoch_begin = [&](int epoch) {
      loss.assign(full({}, values[static_cast<size_t>(epoch)]));
      model.variables()[0].assign(full({1, 1}, 10 * epoch));
    }});
    const Tensor x = full({6, 1}, 1);
    model.fit(x, x,
              {.epochs = static_cast<int>(values.size()), .batch_size = 2, .callbacks = {script, callback}});
  }
  std::vector<std::string> files() const { return posix_env().list_folder(folder); }
  float weight_in(const std::string& name) const {
    LoadedModel saved = load_model(folder + "/" + name);
    return saved.predict(full({1, 1}, 1)).item<float>();
  }

  std::string folder;
  Variable loss{full({}, 0), {.name = "script", .trainable = false}};
  Sequential model{Dense({.units = 1, .use_bias = false})};
};

using Names = std::vector<std::string>;

TEST(ModelCheckpoint, SavesEachEpochUnderItsNumberAndValue) {
  ModelCheckpointScripted scripted("each_epoch");
  scripted.run({.path = "{epoch:02d}-{loss:.2f}"}, {3, 0.126});
  EXPECT_EQ(scripted.files(), (Names{"01-3.00", "02-0.13"}));
  EXPECT_EQ(scripted.weight_in("01-3.00"), 0);
  EXPECT_EQ(scripted.weight_in("02-0.13"), 10);
}

// A run that is killed within a save leaves the folder that was to take its place.
TEST(ModelCheckpoint, WhatAKilledRunLeftIsRemoved) {
  ModelCheckpointScripted scripted("left_over");
  const std::string left = "best.7-123.part";
  std::filesystem::create_directories(scripted.folder + "/" + left);
  posix_env().write_file(scripted.folder + "/" + left + "/weights.safetensors", "half");
  scripted.run({.path = "best"}, {3});
  EXPECT_EQ(scripted.files(), Names{"best"});
}

TEST(ModelCheckpoint, SavesTheBestOnly) {
  ModelCheckpointScripted scripted("best_only");
  scripted.run({.path = "best", .monitor = "loss", .save_best_only = true}, {3, 1, 2, 1});
  EXPECT_EQ(scripted.weight_in("best"), 10);
  scripted.run({.path = "most", .monitor = "loss", .save_best_only = true, .mode = "max"}, {3, 1, 4, 1});
  EXPECT_EQ(scripted.weight_in("most"), 20);
}

TEST(ModelCheckpoint, TheBestIsThatOfAllRuns) {
  ModelCheckpointScripted scripted("best_of_runs");
  const auto best =
      ModelCheckpoint({.path = scripted.folder + "/best", .monitor = "loss", .save_best_only = true});
  scripted.run(best, {9, 2});
  scripted.run(best, {5, 4, 3});
  EXPECT_EQ(scripted.weight_in("best"), 10);
  scripted.run(best, {5, 4, 1.5});
  EXPECT_EQ(scripted.weight_in("best"), 20);
}

TEST(ModelCheckpoint, AFirstValueThatIsNaNIsNotTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string mode : {"min", "max"}) {
    ModelCheckpointScripted scripted("nan_first_" + mode);
    scripted.run({.path = "{epoch}", .monitor = "loss", .save_best_only = true, .mode = mode}, {nan, 2, nan});
    EXPECT_EQ(scripted.files(), Names{"2"});
  }
}

TEST(ModelCheckpoint, SavesEveryFewSteps) {
  ModelCheckpointScripted scripted("steps");
  scripted.run({.path = "{epoch}.{batch}", .save_freq = 2}, {1, 1});
  EXPECT_EQ(scripted.files(), (Names{"1.2", "2.1", "2.3"}));
}

TEST(ModelCheckpoint, GoesOnFromACountOfStepsOnly) {
  const auto saver = ModelCheckpoint({.path = "x", .save_freq = 1});
  CallbackState state;
  for (const double count : {-1., 1.5, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    state.put("model_checkpoint/steps", count);
    EXPECT_EQ(rule_of([&] { saver->load_state(state); }), "checkpoint.callback") << count;
  }
  const double many = 1ll << 40;
  state.put("model_checkpoint/steps", many);
  saver->load_state(state);
  CallbackState kept;
  saver->save_state(kept);
  EXPECT_EQ(kept.number("model_checkpoint/steps"), many);
}

TEST(ModelCheckpoint, MistakesAreNamedBeforeTheFirstStep) {
  ModelCheckpointScripted scripted("mistakes");
  const auto rule = [&](const ModelCheckpointOptions& options) {
    return rule_of([&] { scripted.run(options, {1}); });
  };
  EXPECT_EQ(rule_of([] { ModelCheckpoint({}); }), "model_checkpoint.path");
  for (const char* path : {"{val_loss}", "{epoch", "{epoch:d}", "{loss:02d}", "{batch}", "{}", "{epoch:.xf}"})
    EXPECT_EQ(rule({.path = path}), "model_checkpoint.path") << path;
  EXPECT_EQ(rule({.path = "{loss}", .save_freq = 1}), "model_checkpoint.path");
  EXPECT_EQ(rule({.path = "x", .save_freq = -1}), "model_checkpoint.save_freq");
  EXPECT_EQ(rule({.path = "x", .save_best_only = true, .save_freq = 1}), "model_checkpoint.save_freq");
  EXPECT_EQ(rule({.path = "x", .save_best_only = true}), "model_checkpoint.monitor");
  EXPECT_EQ(rule({.path = "absent/{epoch}"}), "save.path");
  EXPECT_TRUE(scripted.files().empty());
}

}  // namespace
}  // namespace espalier
