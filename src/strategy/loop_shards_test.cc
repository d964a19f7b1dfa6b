// Loops of one's own on logical shards: one set of bits on any number of workers.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "strategy/loops_test.h"

namespace espalier {
namespace {

Tensor drawn(const Shape& shape, int seed) { return random_normal(shape, seed, 0); }

// Losses, metrics and weights of a loop that trains.
std::vector<float> trained_on_shards(const Strategy& strategy, int64_t rows, int64_t batch) {
  const auto scope = strategy.scope();
  set_seed(5);
  const Tensor x = drawn({rows, 6}, 1), y = convert(reduce_sum(x, {1}) > 0, DType::kI32);
  Sequential model{Dense({.units = 12, .activation = "relu"}), BatchNormalization(), Dropout(0.25),
                   Dense({.units = 2})};
  model.predict(x);
  Optimizer optimizer(Adam{.learning_rate = 0.02});
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  Metric accuracy("accuracy");
  const auto step = function(
      [&](const Tensor& rows_of_x, const Tensor& labels) -> std::vector<Tensor> {
        const TrainingScope training(true);
        GradientTape tape;
        const Tensor out = model(rows_of_x);
        const LossSums sums = loss.sums(labels, out);
        const Tensor weight = strategy::all_reduce({sums.weight})[0];
        const auto weights = model.trainable_variables();
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / weight, weights)), weights);
        accuracy.update(labels, out);
        return {sums.sum, out};
      },
      {.name = "step"});
  std::vector<float> out;
  const auto add = [&](const Tensor& values) {
    for (const float value : numbers(values)) out.push_back(value);
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    DistributedDataset data =
        strategy.distribute(Dataset::from_tensor_slices({x, y}).shuffle(rows).batch(batch));
    while (const auto parts = data.next()) {
      const std::vector<PerReplica> found = strategy.run(step, *parts);
      add(strategy.reduce(ReduceOp::kSum, found[0]));
      add(strategy.gather(found[1]));
      out.push_back(static_cast<float>(accuracy.result()));
    }
  }
  for (const Variable& variable : model.variables()) add(variable.read());
  return out;
}

TEST(LoopShards, GiveOneSetOfBitsAnywhere) {
  expect_equal_bits_by_shards([](const Strategy& strategy) { return trained_on_shards(strategy, 48, 16); });
}

// Of 20 rows some shards have one more than others, and of 4 some have none.
TEST(LoopShards, HavePartsOfOtherSizes) {
  expect_equal_bits_by_shards([](const Strategy& strategy) { return trained_on_shards(strategy, 44, 20); });
}

TEST(LoopShards, NightlyGiveOneSetOfBitsOnDevicesOfAPlugin) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  expect_equal_bits_by_shards_on_plugin(
      [](const Strategy& strategy) { return trained_on_shards(strategy, 44, 20); });
}

// As fit, under the same number of shards.
TEST(LoopShards, AreTheDefaultOfModels) {
  const auto fitted = [](const Strategy& strategy, int shards) {
    const auto scope = strategy.scope();
    set_seed(5);
    const Tensor x = drawn({24, 3}, 1), y = convert(reduce_sum(x, {1}) > 0, DType::kI32);
    Sequential model{Dense({.units = 4}), Dropout(0.5), Dense({.units = 2})};
    model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .logical_shards = shards});
    model.fit(x, y, {.epochs = 1, .batch_size = 8});
    std::vector<float> out;
    for (const Variable& variable : model.trainable_variables())
      for (const float value : numbers(variable.read())) out.push_back(value);
    return out;
  };
  const std::vector<float> wanted = fitted(strategy::OneDevice(), 8);
  EXPECT_EQ(fitted(strategy::OneDevice({.logical_shards = 8}), 0), wanted);
  EXPECT_EQ(fitted(strategy::Mirrored({.devices = 2, .logical_shards = 8}), 0), wanted);
  EXPECT_NE(fitted(strategy::OneDevice(), 0), wanted);
}

// Each logical shard is a replica to a loop.
TEST(LoopShards, AreTheReplicasOfALoop) {
  on_each_worker(
      3,
      [](const Strategy& strategy) {
        EXPECT_EQ(strategy.num_replicas_in_sync(), 8);
        EXPECT_EQ(strategy.first_replica(), 8 * strategy.worker() / 3);
        EXPECT_EQ(strategy.replicas_here(), 8 * (strategy.worker() + 1) / 3 - 8 * strategy.worker() / 3);
        const auto batch = strategy.distribute(Dataset::from_tensor_slices({ones({16, 2})}).batch(16)).next();
        EXPECT_EQ(batch->at(0).values.size(), static_cast<size_t>(strategy.replicas_here()));
        const auto count = function([](const Tensor& x) {
          return strategy::all_reduce({full({}, static_cast<double>(x.size(0)))})[0];
        });
        EXPECT_EQ(strategy.reduce(ReduceOp::kMean, strategy.run(count, *batch)[0]).item<float>(), 16);
      },
      {.logical_shards = 8});
}

struct Numbers final : DataSource {
  explicit Numbers(DataShard shard) : shard(shard), next_number(shard.index) {}
  std::optional<Tensors> next() override {
    if (next_number >= 30) return std::nullopt;
    const auto number = static_cast<float>(std::exchange(next_number, next_number + shard.count));
    return Tensors{Tensor::of<float>({number, number * number})};
  }
  DataShard shard;
  int64_t next_number;
};

std::vector<float> sums_of_source(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(3);
  const auto step = function([](const Tensor& x) {
    return strategy::all_reduce({reduce_sum(x * random_uniform(x.shape()), {0})})[0];
  });
  DistributedDataset data = strategy.distribute(
      Dataset::from_source([](DataShard shard, uint64_t) { return std::make_unique<Numbers>(shard); },
                           {.shards = 8})
          .batch(12));
  std::vector<float> out;
  while (const auto part = data.next())
    for (const float value : numbers(strategy.run(step, *part)[0].values[0])) out.push_back(value);
  return out;
}

// Each shard of the data is a logical shard.
TEST(LoopShards, TakeTheShardsOfTheirSource) {
  expect_equal_bits_by_shards(sums_of_source);
  EXPECT_EQ(rule_of([] { sums_of_source(strategy::OneDevice({.logical_shards = 4})); }), "strategy.shards");
}

TEST(LoopShards, SlowTakeTheShardsOfTheirSourceOnDevicesOfAPlugin) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  expect_equal_bits_by_shards_on_plugin(sums_of_source);
}

TEST(LoopShards, OfAWrongNumberAreRefused) {
  EXPECT_EQ(rule_of([] { strategy::OneDevice({.logical_shards = -1}); }), "strategy.logical_shards");
  EXPECT_EQ(rule_of([] { strategy::Mirrored({.devices = 2, .logical_shards = 5000}); }),
            "strategy.logical_shards");
  for (const std::string& error :
       errors_of_workers(3,
                         [](const Strategy& strategy) {
                           strategy.distribute(Dataset::from_tensor_slices({ones({4})}).batch(4));
                         },
                         "", {}, {.logical_shards = 2}))
    EXPECT_NE(error.find("2 of them for 3 workers"), std::string::npos) << error;
}

TEST(LoopShards, KnowNoStatisticsOfAllRows) {
  const auto rule = rule_of([] {
    const strategy::OneDevice strategy({.logical_shards = 2});
    const auto scope = strategy.scope();
    BatchNormalization layer({.synchronized = true});
    layer(ones({4, 2}));
    const auto step = function([&](const Tensor& x) {
      const TrainingScope training(true);
      return layer(x);
    });
    strategy.run(step, *strategy.distribute(Dataset::from_tensor_slices({ones({4, 2})}).batch(4)).next());
  });
  EXPECT_EQ(rule, "strategy.synchronized");
}

}  // namespace
}  // namespace espalier
