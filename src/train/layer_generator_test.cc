// Generators that layers make are part of the model: of its copies, saved models and checkpoints.
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/run_context.h"
#include "espalier/saved_model.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

struct Noise : Layer {
  explicit Noise(std::optional<uint64_t> seed = {}) : Layer("noise"), seed(seed) {}
  void build(const TensorType&) override { add_generator("draws", seed); }
  Tensor call(const Tensor& x) override {
    return TrainingScope::current() ? x + generator("draws").normal(x.shape()) : x;
  }
  std::optional<uint64_t> seed;
};
Sequential noisy(std::optional<uint64_t> seed = {}) {
  Sequential model{Noise(seed), Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError(), .metrics = {}});
  return model;
}
// In no order, since a loaded model has one of its own.
std::multiset<std::vector<std::byte>> state_of(const Model& model) {
  std::multiset<std::vector<std::byte>> out;
  for (const Variable& variable : model.variables()) {
    const Tensor value = variable.read();
    const auto* bytes = static_cast<const std::byte*>(value.bytes());
    out.emplace(bytes, bytes + value.type().bytes());
  }
  return out;
}
Tensor layer_generator_rows() { return Generator(5).normal({20, 3}); }
Tensor labels() { return sum(layer_generator_rows(), 1, true); }

TEST(LayerGenerator, IsAVariableThatNobodyTrains) {
  set_seed(1);
  Sequential model = noisy();
  model.fit(layer_generator_rows(), labels(), {.epochs = 2, .batch_size = 5});
  ASSERT_EQ(model.variables().size(), 4u);
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  EXPECT_EQ(model.variables()[0].path(), "sequential/noise/draws/key");
  EXPECT_EQ(model.variables()[1].read().item<uint64_t>(), 8u) << "a step for each batch";
  const auto key = [](std::optional<uint64_t> seed) {
    Sequential other = noisy(seed);
    other.predict(layer_generator_rows());
    return other.variables()[0].read().item<uint64_t>();
  };
  EXPECT_EQ(key(7), 7u);
  EXPECT_NE(key({}), key({})) << "layers of other paths draw other numbers";
}

TEST(LayerGenerator, GoesOnInASavedModel) {
  set_seed(2);
  Sequential model = noisy();
  model.fit(layer_generator_rows(), labels());
  const std::string folder = testing::TempDir() + "/layer_generator";
  std::filesystem::remove_all(folder);
  model.save(folder);
  LoadedModel loaded = load_model(folder);
  for (Model* each : {static_cast<Model*>(&model), static_cast<Model*>(&loaded)}) {
    each->compile({.loss = MeanSquaredError(), .metrics = {}});
    each->fit(layer_generator_rows(), labels(), {.epochs = 2, .shuffle = false});
  }
  EXPECT_EQ(state_of(loaded), state_of(model));
  std::filesystem::remove_all(folder);
}

TEST(LayerGenerator, AKilledRunGoesOnToTheSameBits) {
  struct Killed {};
  const std::string path = testing::TempDir() + "/layer_generator.checkpoint";
  const auto run = [&](int64_t dies_after, uint64_t seed) {
    set_seed(seed);
    Sequential model = noisy();
    int64_t steps = 0;
    model.fit(layer_generator_rows(), labels(),
              {.epochs = 3,
               .batch_size = 5,
               .callbacks = {BackupAndRestore({.path = path, .save_freq = 1}),
                             LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                               if (++steps == dies_after) throw Killed();
                             }})}});
    return state_of(model);
  };
  std::filesystem::remove(path);
  const auto wanted = run(-1, 3);
  for (const int64_t step : {2, 6, 9}) {
    EXPECT_THROW(run(step, 3), Killed);
    EXPECT_EQ(run(-1, 99), wanted) << step;
  }
}

struct Noisy : Layer {
  using Draw = std::function<Tensor(const Tensor&, Noisy&)>;
  explicit Noisy(Draw draw) : Layer("noisy"), draw(std::move(draw)) {}
  void build(const TensorType& x) override {
    add_generator("draws");
    add_weight("kernel", {8, x.shape.back()}, initializer("ones"));
  }
  Tensor call(const Tensor& x) override { return draw(x, *this); }
  using Layer::generator;
  using Layer::weight;
  Draw draw;
};

// Weights behind epochs of fit, whose last batches are uneven.
std::vector<float> fitted_with_noise(const Strategy& strategy, Noisy::Draw noise, int64_t batch) {
  const auto scope = strategy.scope();
  set_seed(5);
  Sequential model{Noisy(std::move(noise)), Dense({.units = 1})};
  model.compile({.optimizer = SGD{.learning_rate = 0.01}, .loss = MeanSquaredError(), .metrics = {}});
  const auto logs = model.fit(layer_generator_rows(), labels(), {.epochs = 3, .batch_size = batch});
  std::vector<float> out{static_cast<float>(logs.back()["loss"])};
  for (const Variable& variable : model.trainable_variables())
    for (const float value : numbers(variable.read())) out.push_back(value);
  return out;
}

void expect_to_draw_what_one_device_draws(const Noisy::Draw& noise) {
  for (const int64_t batch : {8, 10})
    expect_as_on_one_device(
        [&](const Strategy& strategy) { return fitted_with_noise(strategy, noise, batch); }, 4e-6,
        batch == 10);
  const Loop fitted = [&](const Strategy& strategy) { return fitted_with_noise(strategy, noise, 8); };
  expect_equal_bits_by_shards(fitted);
  const std::vector<float> whole = fitted(strategy::OneDevice()),
                           in_shards = fitted(strategy::OneDevice({.logical_shards = 8}));
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(in_shards[i], whole[i], 4e-6) << i;
}

// A layer of a user's own, as the comment in layers.h has it.
TEST(LayerGenerator, DrawsWhatOneDeviceDraws) {
  const auto of_rows = [](const Tensor& x, Noisy& layer) {
    return x + layer.generator("draws").normal(x.shape());
  };
  // Of as many rows as the batch has, and none of them.
  const auto of_kernel = [](const Tensor& x, Noisy& layer) {
    const Tensor kernel = layer.weight("kernel").read();
    return x * mean(kernel + layer.generator("draws").normal(kernel.shape()), 0);
  };
  const auto dropped_kernel = [](const Tensor& x, Noisy& layer) {
    const Tensor kernel = layer.weight("kernel").read();
    return x * mean(dropout(kernel, 0.5, default_generator().key(), default_generator().next_step()), 0);
  };
  for (const Noisy::Draw& noise : {Noisy::Draw(of_rows), Noisy::Draw(of_kernel), Noisy::Draw(dropped_kernel)})
    expect_to_draw_what_one_device_draws(noise);
}

// The batch second, as behind steps of a sequence.
TEST(LayerGenerator, DrawsWhatOneDeviceDrawsWithTheBatchSecond) {
  if (RunContext::current().device)
    GTEST_SKIP() << "a device that fills batches up draws for the rows that it adds, too";
  expect_to_draw_what_one_device_draws([](const Tensor& x, Noisy& layer) {
    return x + transpose(layer.generator("draws").normal({x.size(1), x.size(0)}), {1, 0});
  });
}

TEST(LayerGenerator, MistakesAreNamed) {
  struct Early : Layer {
    Early() { add_generator("draws"); }
  };
  EXPECT_EQ(rule_of([] { Early early; }), "layer.weight");
  struct Missing : Layer {
    Tensor call(const Tensor& x) override { return x + generator("draws").normal(x.shape()); }
  };
  EXPECT_EQ(rule_of([] { Missing()(layer_generator_rows()); }), "layer.weight");
  const Variable key(Tensor::scalar(uint64_t{1})), other(Tensor::scalar(1.0f));
  EXPECT_EQ(rule_of([&] { Generator(key, other); }), "generator.state");
}

}  // namespace
}  // namespace espalier
