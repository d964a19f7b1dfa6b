// Two models, two optimizers and their steps in turn, by a train_step of fit and as a loop.
#include <gtest/gtest.h>

#include "base/scratch_test.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

// What both ways train.
struct GanParts {
  LossSums train_critic(const Tensor& real, const Tensor& weight) {
    const Tensor yes = ones({real.size(0), 1}), no = zeros({real.size(0), 1});
    GradientTape tape;
    const Tensor made = maker(random_normal({real.size(0), 4}));
    const Tensor losses = loss.of_rows(yes, critic(real)) + loss.of_rows(no, critic(made));
    const LossSums sums = LossSums::of(losses, weight);
    update(critic_optimizer, tape, sums, critic);
    critic_loss.update({}, losses, weight);
    return sums;
  }
  LossSums train_generator(const Tensor& real, const Tensor& weight) {
    const Tensor yes = ones({real.size(0), 1});
    GradientTape tape;
    const LossSums sums = loss.sums(yes, critic(maker(random_normal({real.size(0), 4}))), weight);
    update(generator_optimizer, tape, sums, maker);
    return sums;
  }
  static void update(Optimizer& optimizer, GradientTape& tape, const LossSums& sums,
                     const Sequential& model) {
    const Tensor rows = strategy::all_reduce({sums.weight})[0];
    const auto weights = model.trainable_variables();
    optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / rows, weights)), weights);
  }
  std::vector<float> learned() const {
    std::vector<float> out;
    for (const Sequential* model : {&critic, &maker})
      for (const Variable& variable : model->variables())
        for (const float value : numbers(variable.read())) out.push_back(value);
    return out;
  }

  Sequential maker{Dense({.units = 8, .activation = "relu"}), Dense({.units = 2})};
  Sequential critic{Dense({.units = 8, .activation = "relu"}), Dropout(0.25), Dense({.units = 1})};
  Optimizer critic_optimizer = Adam{.learning_rate = 0.01},
            generator_optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9};
  Loss loss = BinaryCrossentropy({.from_logits = true});
  Metric critic_loss = metrics::Mean("critic_loss");
};

struct FittedGan : CustomModel, GanParts {
  FittedGan() : CustomModel("gan") {}
  Tensor call(const Tensor& noise) override { return maker(noise); }
  LossSums train_step(const TrainRows& rows) override {
    train_critic(rows.x[0], rows.weight);
    return train_generator(rows.x[0], rows.weight);
  }
  std::vector<Metric> step_metrics() const override {
    return names_metrics ? std::vector<Metric>{critic_loss} : std::vector<Metric>();
  }
  std::vector<Optimizer> step_optimizers() const override { return {critic_optimizer, generator_optimizer}; }
  bool names_metrics = true;
};

Tensor real_rows() { return random_normal({42, 2}, 1, 0) + 2; }

struct Interrupted {};

// Raises Interrupted behind step `stop`, unless that is 0.
std::vector<float> fitted_gan(const Strategy& strategy, const std::string& backup = "", int64_t stop = 0,
                              bool names_metrics = true) {
  const auto scope = strategy.scope();
  set_seed(5);
  FittedGan gan;
  gan.names_metrics = names_metrics;
  gan.compile();
  FitOptions options{.epochs = 3, .batch_size = 12};
  int64_t steps = 0;
  if (!backup.empty())
    options.callbacks = {BackupAndRestore({.path = backup, .save_freq = 1}),
                         LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                           if (++steps == stop) throw Interrupted();
                         }})};
  const auto epochs = gan.fit(real_rows(), zeros({42, 1}), options);
  std::vector<float> out = gan.learned();
  out.push_back(static_cast<float>(epochs.back().at("loss")));
  out.push_back(
      static_cast<float>(names_metrics ? epochs.back().at("critic_loss") : gan.critic_loss.result()));
  return out;
}

std::vector<float> looped_gan(const Strategy& strategy, const std::string& folder = "", int64_t stop = 0) {
  const auto scope = strategy.scope();
  set_seed(5);
  GanParts gan;
  const auto train_critic = function(
      [&](const Tensor& real) {
        const TrainingScope training(true);
        gan.train_critic(real, strategy::row_weight(real));
      },
      {.name = "train_critic"});
  const auto train_generator = function(
      [&](const Tensor& real) {
        const TrainingScope training(true);
        gan.train_generator(real, strategy::row_weight(real));
      },
      {.name = "train_generator"});
  auto batches =
      strategy.distribute(Dataset::from_tensor_slices({real_rows()}).shuffle(42).batch(12).repeat(3));
  std::optional<CheckpointManager> checkpoints;
  if (!folder.empty()) {
    checkpoints.emplace(folder, std::vector<Tracked>{{"critic", gan.critic},
                                                     {"critic_optimizer", gan.critic_optimizer},
                                                     {"generator", gan.maker},
                                                     {"generator_optimizer", gan.generator_optimizer},
                                                     {"critic_loss", gan.critic_loss},
                                                     {"batches", batches}});
    checkpoints->restore();
  }
  for (int64_t steps = 1; const auto batch = batches.next(); ++steps) {
    strategy.run(train_critic, *batch);
    strategy.run(train_generator, *batch);
    if (checkpoints) checkpoints->save();
    if (steps == stop) {
      checkpoints->finish();
      throw Interrupted();
    }
  }
  std::vector<float> out = gan.learned();
  out.push_back(static_cast<float>(gan.critic_loss.result()));
  return out;
}

// Also on parts without rows: of 42 rows the last batch has 6 on devices, fewer than there are logical
// shards.
TEST(Gans, LearnWhatOneDeviceDoes) {
  expect_as_on_one_device([](const Strategy& strategy) { return fitted_gan(strategy); }, 2e-5, false);
  expect_as_on_one_device([](const Strategy& strategy) { return looped_gan(strategy); }, 2e-5);
}

TEST(Gans, HaveOneSetOfBitsOnLogicalShards) {
  expect_equal_bits_by_shards([](const Strategy& strategy) { return fitted_gan(strategy); });
  expect_equal_bits_by_shards([](const Strategy& strategy) { return looped_gan(strategy); });
}

// Behind any step, on another number of workers: what the step alone uses is in the checkpoint.
TEST(Gans, GoOnToTheSameBits) {
  using Way = std::vector<float> (*)(const Strategy&, const std::string&, int64_t);
  const Way fitted = [](const Strategy& strategy, const std::string& backup, int64_t stop) {
    return fitted_gan(strategy, backup, stop);
  };
  for (const Way way : {fitted, Way(looped_gan)}) {
    const std::string folder = fresh_folder("gans");
    const std::vector<float> wanted = way(strategy::OneDevice({.logical_shards = 4}), "", 0);
    for (const int64_t stop : {1, 4, 6, 11}) {
      SCOPED_TRACE(stop);
      const std::string path = cat(folder, "/", stop);
      EXPECT_THROW(way(strategy::OneDevice({.logical_shards = 4}), path, stop), Interrupted);
      const auto goes_on = [&](const Strategy& strategy) { EXPECT_EQ(way(strategy, path, 0), wanted); };
      if (stop % 2)
        goes_on(strategy::Mirrored({.devices = 3, .logical_shards = 4}));
      else
        on_each_worker(2, goes_on, {.logical_shards = 4});
    }
  }
}

// A metric that the step updates and does not name is a variable that it uses, no log.
TEST(Gans, AMetricThatIsNotNamedIsInTheCheckpoint) {
  const std::string folder = fresh_folder("gans-metrics");
  int runs = 0;
  for (const auto& strategy :
       {Strategy(strategy::OneDevice({.logical_shards = 4})), Strategy(strategy::Mirrored({.devices = 2})),
        Strategy(strategy::OneDevice())}) {
    const std::string path = cat(folder, "/", ++runs);
    const std::vector<float> wanted = fitted_gan(strategy, "", 0, false);
    EXPECT_THROW(fitted_gan(strategy, path, 6, false), Interrupted);
    EXPECT_EQ(fitted_gan(strategy, path, 0, false), wanted);
  }
}

}  // namespace
}  // namespace espalier
