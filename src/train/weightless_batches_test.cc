// Batches all of whose rows weigh 0: they make no step.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

constexpr int64_t kWeightlessRows = 8;  // of a batch

// Batches of rows that weigh 1, or of rows that weigh 0 and hold what no row may hold.
struct WeightlessBatches {
  explicit WeightlessBatches(const std::vector<bool>& count) {
    std::vector<Tensor> xs, ys, ws;
    int64_t number = 0;
    for (const bool counts : count) {
      const Tensor x =
          random_normal({kWeightlessRows, 3}, 1, 0) * (counts ? static_cast<double>(++number) : 1);
      xs.push_back(counts ? x : x * std::numeric_limits<float>::quiet_NaN());
      ys.push_back(full({kWeightlessRows}, counts ? number % 2 : 77, DType::kI32));
      ws.push_back(full({kWeightlessRows}, counts ? 1 : 0));
    }
    x = concatenate(xs, 0), y = concatenate(ys, 0), weights = concatenate(ws, 0);
  }
  Tensor x, y, weights;
};

using WeightlessState = std::vector<std::pair<std::string, std::vector<double>>>;

// All that steps change: weights, averages, moments, rates, counts, sums of accumulation, random numbers.
WeightlessState state_of_steps(const Model& model) {
  WeightlessState out;
  const auto add = [&](const std::vector<Variable>& variables) {
    for (const Variable& variable : variables)
      out.emplace_back(variable.path(), convert(variable.read(), DType::kF64).to_vector<double>());
  };
  add(model.variables());
  add(model.optimizer().variables());
  add({default_generator().step_variable()});
  return out;
}

struct WeightlessCase {
  std::string name;
  std::function<Optimizer()> optimizer;  // each run has its own state
  bool eager = false;
  int shards = 0;
  const Strategy* strategy = nullptr;
  std::string policy = "float32";
};

struct WeightlessRun {
  WeightlessState state;
  std::vector<Logs> logs;
  int64_t hooks = 0;
};

WeightlessRun trained_without_some(const WeightlessCase& of, const std::vector<bool>& count,
                                   bool as_dataset) {
  set_seed(3);
  std::optional<Strategy::Scope> scope;
  if (of.strategy) scope.emplace(of.strategy->replicas());
  set_dtype_policy(of.policy);
  Sequential model{Dense({.units = 6, .activation = "tanh", .kernel_regularizer = regularizers::L2(0.1)}),
                   BatchNormalization(), Dropout(0.3), Dense({.units = 2, .dtype = "float32"})};
  set_dtype_policy("float32");
  model.compile({.optimizer = of.optimizer(),
                 .metrics = {"accuracy"},
                 .run_eagerly = of.eager,
                 .logical_shards = of.shards});
  WeightlessRun out;
  FitOptions options{.epochs = 2, .batch_size = kWeightlessRows, .shuffle = false};
  options.callbacks = {LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) { ++out.hooks; }})};
  const WeightlessBatches data(count);
  if (as_dataset) {
    options.weighted = true;
    out.logs = model.fit(Dataset::from_tensor_slices({data.x, data.y, data.weights}).batch(kWeightlessRows),
                         options);
  } else {
    options.sample_weight = data.weights;
    out.logs = model.fit(data.x, data.y, options);
  }
  out.state = state_of_steps(model);
  return out;
}

// A run with such batches is the run without them, in all its bits.
TEST(WeightlessBatches, AreNotThere) {
  const strategy::Mirrored two({.devices = 2});
  const LearningRateSchedule falls =
      ExponentialDecay{.initial_learning_rate = 0.1, .decay_steps = 1, .decay_rate = 0.5};
  const WeightlessCase cases[] = {
      {"momentum", [&] { return SGD{.learning_rate = falls, .momentum = 0.9, .weight_decay = 0.1}; }},
      {"adam", [&] { return Adam{.learning_rate = 0.1, .use_ema = true}; }},
      {"eager adam", [&] { return Adam{.learning_rate = 0.1}; }, true},
      {"accumulation", [&] { return Adam{.learning_rate = 0.1, .gradient_accumulation_steps = 2}; }},
      {"eager accumulation", [&] { return Adam{.learning_rate = 0.1, .gradient_accumulation_steps = 2}; },
       true},
      {"logical shards", [&] { return Adam{.learning_rate = 0.1}; }, false, 2},
      {"replicas", [&] { return AdamW{.learning_rate = falls}; }, false, 0, &two},
      {"logical shards of replicas", [&] { return Adam{.learning_rate = 0.1}; }, false, 4, &two},
      {"loss scale", [&] { return Adam{.learning_rate = 0.1}; }, false, 0, nullptr, "mixed_float16"},
  };
  for (const WeightlessCase& of : cases) {
    for (const bool as_dataset : {false, true}) {
      SCOPED_TRACE(of.name + (as_dataset ? ", of a dataset" : ""));
      const WeightlessRun right = trained_without_some(of, {true, true, true}, as_dataset);
      const WeightlessRun with =
          trained_without_some(of, {true, false, true, false, false, true}, as_dataset);
      EXPECT_EQ(with.state, right.state);
      EXPECT_EQ(with.logs, right.logs);
      EXPECT_EQ(right.hooks, 6);
      EXPECT_EQ(with.hooks, 12) << "hooks see each batch";
      // Before the first batch that counts.
      EXPECT_EQ(trained_without_some(of, {false, true, true, true}, as_dataset).state, right.state);
    }
  }
}

TEST(WeightlessBatches, ChangeNothingInTrainOnBatchAndUnderWeightsOfClasses) {
  for (const bool eager : {false, true}) {
    set_seed(3);
    Sequential model{Dense({.units = 6, .kernel_regularizer = regularizers::L2(0.5)}), Dropout(0.3),
                     Dense({.units = 2})};
    model.compile({.optimizer = Adam{.learning_rate = 0.1, .weight_decay = 0.1}, .run_eagerly = eager});
    const WeightlessBatches data({true});
    model.train_on_batch(data.x, data.y);
    const WeightlessState before = state_of_steps(model);
    model.train_on_batch(data.x, data.y, zeros({kWeightlessRows}));
    EXPECT_EQ(state_of_steps(model), before);
    model.fit(data.x, data.y, {.class_weight = {{0, 0.0}, {1, 0.0}}});
    EXPECT_EQ(state_of_steps(model), before);
    model.fit(data.x, data.y, {.class_weight = {{0, 0.0}, {1, 1.0}}});
    EXPECT_NE(state_of_steps(model), before) << "rows of class 1 count";
    // Of a model that was never called it makes what a step would.
    Sequential fresh{Dense({.units = 2})};
    fresh.compile({.optimizer = Adam{}, .run_eagerly = eager});
    fresh.train_on_batch(data.x, data.y, zeros({kWeightlessRows}));
    EXPECT_EQ(fresh.variables().size(), 2u);
  }
}

// Rows of two shards; of the three batches the second weighs 0 on both workers, the third on the first alone.
struct WeighedShard final : DataSource {
  WeighedShard(int64_t given_shard, bool with_second) : shard(given_shard), second(with_second) {}
  std::optional<Tensors> next() override {
    if (!second && row == 2) row = 4;
    if (row == 6) return std::nullopt;
    const int64_t batch = row / 2;
    const float weight = batch == 0 || (batch == 2 && shard == 1) ? 1 : 0;
    const Tensor x = random_normal({3}, static_cast<uint64_t>(1 + shard * 100 + row++), 0);
    return Tensors{x, Tensor::scalar(static_cast<int32_t>(batch + shard) % 2), Tensor::scalar(weight)};
  }
  int64_t shard, row = 0;
  bool second;
};

TEST(WeightlessBatches, OfWorkersAreThoseOfAllOfThem) {
  const auto train = [](bool with_second, int logical_shards) {
    std::vector<WeightlessState> of_workers(2);
    on_each_worker(2, [&](const Strategy& workers) {
      set_seed(3);
      const Strategy::Scope scope(workers.replicas());
      Sequential model{Dense({.units = 4, .activation = "tanh"}), Dropout(0.3), Dense({.units = 2})};
      model.compile({.optimizer = Adam{.learning_rate = 0.1}, .logical_shards = logical_shards});
      const Dataset rows = Dataset::from_source(
          [=](DataShard shard, uint64_t) { return std::make_unique<WeighedShard>(shard.index, with_second); },
          {.shards = 2});
      model.fit(rows.batch(4), {.epochs = 2, .weighted = true});
      of_workers[static_cast<size_t>(workers.worker())] = state_of_steps(model);
    });
    EXPECT_EQ(of_workers[0], of_workers[1]);
    return of_workers[0];
  };
  for (const int logical_shards : {0, 2})
    EXPECT_EQ(train(true, logical_shards), train(false, logical_shards));
}

}  // namespace
}  // namespace espalier
