// fit on datasets whose cardinality nobody knows: an epoch is a pass, to its end.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/dataset.h"
#include "espalier/random.h"

namespace espalier {
namespace {

std::vector<std::byte> fit_passes_bytes_of(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.bytes());
  return {bytes, bytes + tensor.type().bytes()};
}
// The same elements; nobody knows how many.
Dataset uncounted(const Dataset& dataset) {
  return dataset.filter([](const Tensors&) { return true; });
}
Dataset points() {
  Generator random(7);
  const Tensor x = random.normal({90, 3});
  return Dataset::from_tensor_slices({x, sum(x * x, 1, true)});
}
Sequential regression() {
  Sequential model{Dense({.units = 8}), Dropout(0.3), Dense({.units = 1})};
  model.compile({.optimizer = Adam{.learning_rate = 0.05}, .loss = MeanSquaredError(), .metrics = {}});
  return model;
}

struct FitPassesOutcome {
  std::vector<Logs> history;
  std::vector<std::vector<std::byte>> variables;
  bool operator==(const FitPassesOutcome&) const = default;
};
FitPassesOutcome fit_passes_train(const Dataset& dataset, const FitOptions& options, uint64_t seed = 3) {
  set_seed(seed);
  Sequential model = regression();
  FitPassesOutcome out{model.fit(dataset, options), {}};
  for (const Variable& variable : model.variables())
    out.variables.push_back(fit_passes_bytes_of(variable.read()));
  return out;
}

TEST(FitPasses, TrainToTheBitsOfACountedDataset) {
  const Dataset counted = points().shuffle(90).batch(16);
  const Dataset validation = points().take(20).batch(8);
  ASSERT_EQ(uncounted(counted).cardinality(), Dataset::kUnknown);
  for (const int initial : {0, 2}) {
    const auto options = [&](const Dataset& data) {
      return FitOptions{.epochs = 4, .validation_data = data, .initial_epoch = initial};
    };
    const FitPassesOutcome wanted = fit_passes_train(counted, options(validation));
    EXPECT_EQ(wanted.history.size(), static_cast<size_t>(4 - initial));
    EXPECT_TRUE(fit_passes_train(uncounted(counted), options(uncounted(validation))) == wanted);
  }
}

TEST(FitPasses, EvaluateAndPredictGoToTheEnd) {
  Sequential model = regression();
  const Dataset data = points().batch(16);
  EXPECT_EQ(model.evaluate(uncounted(data)), model.evaluate(data));
  EXPECT_EQ(fit_passes_bytes_of(model.predict(uncounted(data))), fit_passes_bytes_of(model.predict(data)));
}

TEST(FitPasses, CallbacksSeeAsManyStepsAsThereAre) {
  Sequential model = regression();
  Callback::Run run{.steps_per_epoch = -1};
  std::vector<int64_t> steps;
  const auto look = LambdaCallback({.on_train_begin = [&](const Callback::Run& given) { run = given; },
                                    .on_epoch_begin = [&](int) { steps.push_back(0); },
                                    .on_batch_end = [&](int64_t step, const Logs&) { steps.back() = step; }});
  const std::string folder = testing::TempDir() + "/fit_passes_steps";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto saves = ModelCheckpoint({.path = folder + "/{epoch}.{batch}", .save_freq = 4});
  testing::internal::CaptureStderr();
  model.fit(uncounted(points()).batch(16), {.epochs = 2, .callbacks = {look, ConsoleProgress(), saves}});
  EXPECT_EQ(run.steps_per_epoch, 0);
  EXPECT_EQ(steps, (std::vector<int64_t>{6, 6}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(posix_env().list_folder(folder), (std::vector<std::string>{"1.4", "2.2", "2.6"}));
}

TEST(FitPasses, APassWithoutBatchesIsNamed) {
  int passes = 0;
  const Dataset once = Dataset::from_generator([&passes]() -> ElementSource {
    ++passes;
    return [left = passes == 1 ? 2 : 0]() mutable -> std::optional<Tensors> {
      if (left-- == 0) return std::nullopt;
      return Tensors{full({4, 3}, 1), full({4, 1}, 1)};
    };
  });
  Sequential model = regression();
  EXPECT_EQ(rule_of([&] { model.fit(once, {.epochs = 2}); }), "fit.rows");
  EXPECT_EQ(passes, 2);
  EXPECT_EQ(rule_of([&] { model.fit(uncounted(points().batch(8).repeat())); }), "fit.steps_per_epoch");
}

struct FitPassesKilled {};

// Passes differ in their number of batches. The same program every time: it dies after so many steps, or goes
// on to the end.
FitPassesOutcome run_program(const std::string& path, int64_t save_freq, int64_t dies_after = -1,
                             uint64_t seed = 3, int64_t* steps = nullptr) {
  const Dataset data = points()
                           .shuffle(40)
                           .filter([](const Tensor& x, const Tensor&) { return sum(x) > -1; })
                           .batch(8)
                           .filter([](const Tensor& x, const Tensor&) { return sum(x) > 2; })
                           .prefetch(2);
  int64_t done = 0;
  FitOptions options{.epochs = 4};
  options.callbacks = {BackupAndRestore({.path = path, .save_freq = save_freq}),
                       LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                         if (++done == dies_after) throw FitPassesKilled();
                       }})};
  FitPassesOutcome out = fit_passes_train(data, options, seed);
  if (steps) *steps = done;
  return out;
}

TEST(FitPasses, ARunThatDiedInAnyStepGoesOnToTheSameBits) {
  const std::string path = testing::TempDir() + "/fit_passes.checkpoint";
  std::filesystem::remove(path);
  for (const int64_t save_freq : {0, 3}) {
    int64_t steps = 0;
    const FitPassesOutcome wanted = run_program(path, save_freq, -1, 3, &steps);
    ASSERT_GT(steps, 20);
    for (int64_t step = 4; step <= steps; step += save_freq ? 1 : 5) {
      EXPECT_THROW(run_program(path, save_freq, step), FitPassesKilled);
      // The program that goes on has another seed; that of the file counts.
      const uint64_t seed = posix_env().exists(path) ? 99 : 3;
      EXPECT_TRUE(run_program(path, save_freq, -1, seed) == wanted) << save_freq << ", step " << step;
      ASSERT_FALSE(posix_env().exists(path));
    }
  }
}

}  // namespace
}  // namespace espalier
