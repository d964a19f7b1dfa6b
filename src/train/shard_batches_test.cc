#include "train/shard_batches.h"

#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/philox.h"
#include "espalier/espalier.h"
#include "format/checkpoint.h"
#include "train/shard_readers_test.h"

namespace espalier {
namespace {

// Shard k gives f32[6] and a class of 3, of the number of the element.
class LabelledRows final : public DataSource {
 public:
  LabelledRows(int64_t shard, int64_t size, int64_t throws_at)
      : shard_(shard), size_(size), throws_(throws_at) {}
  std::optional<Tensors> next() override {
    if (now_ == throws_) throw std::runtime_error("row 4 has no label");
    if (now_ == size_) return std::nullopt;
    Philox random(hash_combine(static_cast<uint64_t>(shard_), static_cast<uint64_t>(now_++)));
    std::vector<float> x;
    for (int i = 0; i < 6; ++i) x.push_back(static_cast<float>(random.below(2000)) / 1000.0f - 1);
    const int32_t label = x[0] + x[1] > 0.3f ? 2 : x[2] > 0 ? 1 : 0;
    return Tensors{Tensor::of(x), Tensor::scalar(label)};
  }
  std::optional<std::string> save() override { return std::to_string(now_); }
  void restore(std::string_view bytes) override { now_ = std::stoll(std::string(bytes)); }

 private:
  int64_t shard_, size_, throws_, now_ = 0;
};

// Who opened which shard.
struct Opened {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> by;  // rank, shard
};

Dataset labelled(const std::vector<int64_t>& sizes = kUneven, const std::shared_ptr<Opened>& opened = {},
                 int64_t throws_in = -1) {
  return Dataset::from_source(
      [=](DataShard shard, uint64_t) {
        if (opened) {
          const std::lock_guard hold(opened->mutex);
          opened->by.emplace(RunContext::current().rank, shard.index);
        }
        return std::make_unique<LabelledRows>(shard.index, sizes[static_cast<size_t>(shard.index)],
                                              shard.index == throws_in ? 4 : -1);
      },
      {.shards = std::ssize(sizes)});
}

void expect_only_owned(const Opened& opened, int world, int64_t shards) {
  std::set<std::pair<int64_t, int64_t>> wanted;
  for (int64_t rank = 0; rank < world; ++rank) {
    for (const int64_t shard : owned_shards(shards, rank, world)) wanted.emplace(rank, shard);
  }
  EXPECT_EQ(opened.by, wanted) << world << " workers";
}

struct TrainedOnShards {
  std::vector<std::vector<float>> weights;
  std::vector<Logs> logs;
  std::vector<std::tuple<int, int64_t, uint64_t>> ledger;
  bool operator==(const TrainedOnShards&) const = default;
};

struct ShardLedger final : Callback {
  bool wants_rows() const override { return true; }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    entries.push_back({epoch, rows, ids});
  }
  bool chief_only() const override { return false; }
  std::vector<std::tuple<int, int64_t, uint64_t>> entries;
};

struct ShardRun {
  int logical_shards = 0;
  double dropout = 0;
  bool normalized = false, synchronized = false;
  FitOptions fit = {.epochs = 2};
  int64_t stops_after = -1;  // steps

  TrainedOnShards train(const Dataset& dataset, const Strategy* strategy = nullptr) const {
    set_seed(3);
    std::optional<Strategy::Scope> scope;
    if (strategy) scope.emplace(strategy->replicas());
    Sequential model = normalized ? Sequential{Dense({.units = 16, .activation = "relu"}),
                                               BatchNormalization({.synchronized = synchronized}),
                                               Dropout(dropout), Dense({.units = 3})}
                                  : Sequential{Dense({.units = 16, .activation = "relu"}), Dropout(dropout),
                                               Dense({.units = 3})};
    model.compile({.optimizer = Adam{.learning_rate = 0.01},
                   .metrics = {"accuracy"},
                   .logical_shards = logical_shards});
    const auto ledger = std::make_shared<ShardLedger>();
    int64_t steps = 0;
    FitOptions options = fit;
    options.callbacks.push_back(ledger);
    options.callbacks.push_back(LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
      if (++steps == stops_after) model.stop_training();
    }}));
    TrainedOnShards out;
    out.logs = model.fit(dataset, options);
    out.ledger = ledger->entries;
    for (const Variable& variable : model.variables()) {
      if (variable.dtype() == DType::kF32) out.weights.push_back(variable.read().to_vector<float>());
    }
    return out;
  }
  TrainedOnShards train_on(int workers, const Dataset& dataset) const {
    std::vector<TrainedOnShards> all(static_cast<size_t>(workers));
    on_each_worker(workers, [&](const Strategy& strategy) {
      all[static_cast<size_t>(strategy.worker())] = train(dataset, &strategy);
    });
    for (const TrainedOnShards& other : all) {
      EXPECT_EQ(other.weights, all[0].weights);
      EXPECT_EQ(other.ledger, all[0].ledger);
    }
    return all[0];
  }
};

double apart(const TrainedOnShards& a, const TrainedOnShards& b) {
  double worst = 0;
  EXPECT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) {
    float largest = 0, most = 0;
    for (size_t k = 0; k < a.weights[i].size(); ++k) {
      largest = std::max(largest, std::abs(a.weights[i][k]));
      most = std::max(most, std::abs(a.weights[i][k] - b.weights[i][k]));
    }
    worst = std::max<double>(worst, most / largest);
  }
  return worst;
}

constexpr int64_t kUnevenRows = 78;

// By docs/distributed.md, of f32[6] and i32[]: an odd number of 8 bytes is filled up in each tensor.
uint64_t id_by_formula(const Tensors& row) {
  const std::vector<float> x = row[0].to_vector<float>();
  std::vector<uint64_t> words(4);
  std::memcpy(words.data(), x.data(), sizeof(float) * x.size());
  words[3] = static_cast<uint32_t>(row[1].item<int32_t>());
  uint64_t id = 0;
  for (const uint64_t word : words) {
    id = (id ^ word) * 0xd6e8feb86659fd93;
    id ^= id >> 32;
  }
  uint64_t h = id + 0x9e3779b97f4a7c15;
  for (int i = 0; i < 2; ++i) h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  return h ^ h >> 32;
}

// A source that gives one shard's rows for another's, or skips a row and gives one twice for it, has as many
// rows as the right one: which they were tells them apart.
TEST(ShardBatches, TheLedgerSaysWhichRowsASourceGave) {
  const std::vector<int64_t> sizes(4, 6);
  uint64_t ids = 0;
  for (int64_t shard = 0; shard < 4; ++shard) {
    LabelledRows rows(shard, 6, -1);
    while (const auto row = rows.next()) ids += id_by_formula(*row);
  }
  const auto of_shard_0 = Dataset::from_source(
      [](DataShard, uint64_t) { return std::make_unique<LabelledRows>(0, 6, -1); }, {.shards = 4});
  struct Stutters final : DataSource {
    explicit Stutters(int64_t shard) : rows(shard, 6, -1) {}
    std::optional<Tensors> next() override {
      std::optional<Tensors> row = rows.next();
      if (row && now++ == 2) return before;
      before = row.value_or(Tensors());
      return row;
    }
    LabelledRows rows;
    Tensors before;
    int now = 0;
  };
  const auto stutters = Dataset::from_source(
      [](DataShard shard, uint64_t) { return std::make_unique<Stutters>(shard.index); }, {.shards = 4});
  const auto ledger_of = [](const Dataset& data, int workers) {
    const ShardRun run;
    const TrainedOnShards trained = workers > 1 ? run.train_on(workers, data) : run.train(data);
    EXPECT_EQ(std::get<2>(trained.ledger.at(0)), std::get<2>(trained.ledger.at(1)));
    return std::pair(std::get<1>(trained.ledger.at(0)), std::get<2>(trained.ledger.at(0)));
  };
  for (const int workers : {1, 3}) {
    SCOPED_TRACE(workers);
    // As it comes, mixed behind its shards, and in batches that other places begin.
    for (const Dataset& data : {labelled(sizes).batch(10), labelled(sizes).shuffle(9).batch(5)})
      EXPECT_EQ(ledger_of(data, workers), std::pair(int64_t{24}, ids)) << to_string(data);
    EXPECT_NE(ledger_of(of_shard_0.batch(10), workers), std::pair(int64_t{24}, ids));
    EXPECT_EQ(ledger_of(of_shard_0.batch(10), workers).first, 24);
    EXPECT_NE(ledger_of(stutters.batch(10), workers), std::pair(int64_t{24}, ids));
    EXPECT_EQ(ledger_of(stutters.batch(10), workers).first, 24);
  }
}

// A version before had a sum of places under the name of the sum of numbers.
TEST(ShardBatches, ALedgerOfPlacesIsLeftOut) {
  const std::string path = testing::TempDir() + "/ledger_of_places";
  std::filesystem::remove(path);
  const std::vector<int64_t> sizes(4, 6);
  ShardRun run{.stops_after = 2};
  run.fit.epochs = 1;
  run.fit.callbacks = {BackupAndRestore({.path = path})};
  run.train(labelled(sizes).batch(4));
  Checkpoint kept = parse_checkpoint(posix_env().read_file(path));
  ASSERT_EQ(kept.cursor.numbers.count("ledger/contents"), 1u);
  kept.cursor.numbers.erase("ledger/contents");
  kept.cursor.numbers["ledger/ids"] = 5;
  write_checkpoint(path, kept);
  run.stops_after = -1;
  const TrainedOnShards rest = run.train(labelled(sizes).batch(4));
  uint64_t ids = 0;
  for (int64_t shard = 0; shard < 4; ++shard) {
    LabelledRows rows(shard, 6, -1);
    for (int i = 0; const auto row = rows.next(); ++i) ids += i < 2 ? 0 : id_by_formula(*row);
  }
  EXPECT_EQ(rest.ledger, decltype(rest.ledger)({{0, 24, ids}}));
}

// Batches of 10 of 8 shards: 3 or 5 workers have other numbers of rows in each step, and at last some have
// none.
TEST(ShardBatches, WorkersTrainAsOneDeviceAndOpenTheirShardsOnly) {
  const TrainedOnShards one = ShardRun().train(labelled().batch(10));
  for (const int workers : {2, 3, 5, 9}) {
    SCOPED_TRACE(workers);
    const auto opened = std::make_shared<Opened>();
    const TrainedOnShards many =
        ShardRun().train_on(workers, labelled(kUneven, opened).batch(10).prefetch(1));
    expect_only_owned(*opened, workers, 8);
    EXPECT_LE(apart(one, many), 2e-6);
    EXPECT_EQ(many.ledger, one.ledger);
    EXPECT_EQ(std::get<1>(many.ledger.at(1)), kUnevenRows);
    for (const auto& [name, value] : one.logs.back())
      EXPECT_NEAR(many.logs.back().at(name), value, 1e-5) << name;
  }
  // Places of rows, by which Dropout draws, follow from the data.
  const ShardRun drops{.dropout = 0.4};
  const TrainedOnShards two = drops.train_on(2, labelled().batch(10));
  EXPECT_GT(apart(one, two), 1e-3);
  for (const int workers : {3, 5}) EXPECT_LE(apart(two, drops.train_on(workers, labelled().batch(10))), 2e-6);
}

// Rows of weight 0 that one worker has and another has not: all run one program.
TEST(ShardBatches, RowsOfWeightZeroOnSomeWorkersDoNoHarm) {
  for (const bool synchronized : {true, false}) {
    ShardRun run{.normalized = true, .synchronized = synchronized};
    run.fit.class_weight = {{0, 0.0}};
    const Dataset data = labelled().batch(10);
    const TrainedOnShards one = run.train(data), three = run.train_on(3, data);
    EXPECT_LE(apart(one, three), synchronized ? 1e-5 : 10.0);
    for (const auto& [name, value] : three.logs.back()) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(ShardBatches, LogicalShardsAreThoseOfTheDataInBits) {
  const ShardRun run{.logical_shards = 8, .dropout = 0.3, .normalized = true};
  for (const int64_t batch : {10, 32}) {
    SCOPED_TRACE(batch);
    const Dataset data = labelled().batch(batch);
    const TrainedOnShards one = run.train(data);
    EXPECT_EQ(std::get<1>(one.ledger.at(0)), kUnevenRows);
    const strategy::Mirrored mirrored({.devices = 3});
    EXPECT_EQ(run.train(data, &mirrored), one);
    for (const int workers : {2, 3, 5, 9}) {
      SCOPED_TRACE(workers);
      const auto opened = std::make_shared<Opened>();
      EXPECT_EQ(run.train_on(workers, labelled(kUneven, opened).batch(batch)), one);
      expect_only_owned(*opened, workers, 8);
    }
  }
}

// Stopped behind any step, whoever trains goes on as if nothing had been; the checkpoint does not say who
// did.
TEST(ShardBatches, WhatThreeWorkersSavedTwoAndOneGoOnWith) {
  const std::string folder = testing::TempDir() + "/shard_batches";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Dataset data = labelled().batch(10);
  for (const int shards : {0, 8}) {
    ShardRun run{.logical_shards = shards, .fit = {.epochs = 3}};
    const TrainedOnShards whole = run.train_on(3, data);
    for (const int64_t step : {3, 8, 13}) {
      SCOPED_TRACE(cat(shards, " logical shards, step ", step));
      const auto saved_by = [&](int workers) {
        const std::string path = cat(folder, "/", shards, "_", step, "_", workers);
        ShardRun stopped = run;
        stopped.fit.callbacks = {BackupAndRestore({.path = path})};
        stopped.stops_after = step;
        if (workers > 1)
          stopped.train_on(workers, data);
        else
          stopped.train(data);
        return path;
      };
      const std::string by_three = saved_by(3);
      if (shards > 0) {
        const std::string bytes = posix_env().read_file(by_three);
        EXPECT_EQ(posix_env().read_file(saved_by(2)), bytes);
        EXPECT_EQ(posix_env().read_file(saved_by(1)), bytes);
      }
      for (const int workers : {2, 1}) {
        SCOPED_TRACE(workers);
        const std::string path = cat(by_three, "_for_", workers);
        std::filesystem::copy_file(by_three, path);
        ShardRun rest = run;
        rest.fit.callbacks = {BackupAndRestore({.path = path})};
        const TrainedOnShards ended = workers > 1 ? rest.train_on(workers, data) : rest.train(data);
        const auto epoch = static_cast<std::ptrdiff_t>((step - 1) / 8);
        EXPECT_EQ(ended.ledger, decltype(ended.ledger)(whole.ledger.begin() + epoch, whole.ledger.end()));
        if (shards > 0)
          EXPECT_EQ(ended.weights, whole.weights);
        else
          EXPECT_LE(apart(ended, whole), 2e-6);
      }
    }
  }
}

TEST(ShardBatches, EvaluationIsOfAllRows) {
  for (const int shards : {0, 8}) {
    const auto evaluated = [&](const Strategy* strategy, const Dataset& data) {
      set_seed(3);
      std::optional<Strategy::Scope> scope;
      if (strategy) scope.emplace(strategy->replicas());
      Sequential model{Dense({.units = 3})};
      model.compile({.metrics = {"accuracy"}, .logical_shards = shards});
      return model.evaluate(data);
    };
    const Logs one = evaluated(nullptr, labelled().batch(10));
    const auto opened = std::make_shared<Opened>();
    on_each_worker(3, [&](const Strategy& workers) {
      const Logs many = evaluated(&workers, labelled(kUneven, opened).batch(10));
      for (const auto& [name, value] : one) EXPECT_NEAR(many.at(name), value, shards ? 0 : 1e-6) << name;
    });
    expect_only_owned(*opened, 3, 8);
  }
}

// Epochs of steps go over the ends of passes, and begin behind those that came before.
TEST(ShardBatches, EpochsMayBeStepsAndHaveOptionsAsOnOneDevice) {
  for (const int shards : {0, 8}) {
    ShardRun run{.logical_shards = shards};
    run.fit.epochs = 4;
    run.fit.initial_epoch = 1;
    run.fit.steps_per_epoch = 5;
    run.fit.validation_data = labelled({4, 0, 6, 1, 0, 9, 3, 2}).batch(6);
    run.fit.class_weight = {{0, 2.5}, {2, 0.5}};
    for (const Dataset& data :
         {labelled().batch(10), labelled().repeat(2).batch(10, {.drop_remainder = true})}) {
      SCOPED_TRACE(cat(shards, " logical shards, ", data));
      const TrainedOnShards one = run.train(data), three = run.train_on(3, data);
      EXPECT_LE(apart(one, three), shards ? 0 : 2e-6);
      EXPECT_EQ(three.ledger, one.ledger);
      ASSERT_EQ(three.logs.size(), one.logs.size());
      for (const auto& [name, value] : one.logs.back())
        EXPECT_NEAR(three.logs.back().at(name), value, shards ? 0 : 1e-5) << name;
      EXPECT_TRUE(one.logs.back().contains("val_loss"));
    }
  }
}

TEST(ShardBatches, WhatOneIteratorRefusesAllWorkersRefuse) {
  const auto refused = [](const Dataset& data, const std::string& rule, const std::string& says) {
    for (const std::string& error : errors_of_workers(
             3, [&](const Strategy& workers) { ShardRun().train(data, &workers); }, kTestTold)) {
      EXPECT_NE(error.find(rule), error.npos) << error;
      EXPECT_NE(error.find(says), error.npos) << error;
    }
  };
  const auto rows = [](DataShard shard, uint64_t) {
    return std::make_unique<LabelledRows>(shard.index, kUneven[static_cast<size_t>(shard.index)], -1);
  };
  refused(Dataset::from_source(rows, {.shards = 8, .elements = 79}).batch(10), "from_source.elements",
          "a pass must give 79 elements, as the options say, it has ended with 78");
  const auto shorter = [](const Tensor& x, const Tensor& y) -> Tensors {
    const bool last = RunContext::current().rank == 2;
    return {last ? slice(x, {0}, {5}) : x, y};
  };
  refused(labelled().map(shorter).batch(10), "batch.shape",
          "of worker 0 they are f32[6], i32[], of worker 2 f32[5], i32[]");
}

TEST(ShardBatches, AWorkerWhoseSourceThrowsTellsTheOthers) {
  const auto errors = errors_of_workers(
      3, [](const Strategy& workers) { ShardRun().train(labelled(kUneven, {}, 4).batch(10), &workers); },
      kTestTold);
  for (const std::string& error : errors) EXPECT_NE(error.find("row 4 has no label"), error.npos) << error;
}

TEST(ShardBatches, AnotherNumberOfLogicalShardsIsRefused) {
  try {
    ShardRun{.logical_shards = 4}.train(labelled().batch(10));
    ADD_FAILURE() << "it is not refused";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "fit.logical_shards");
    EXPECT_EQ(error.message(),
              "from_source(8 shards).batch(10) has 8 shards, and the model is compiled for 4 logical shards");
    EXPECT_EQ(error.fix(), "set logical_shards to 8");
  }
  // What is mixed behind its shards is cut evenly, as rows in memory are.
  const auto all = [](const Tensor&, const Tensor&) { return true; };
  EXPECT_EQ(std::get<1>(ShardRun{.logical_shards = 4}.train(labelled().filter(all).batch(10)).ledger.at(0)),
            kUnevenRows);
}

}  // namespace
}  // namespace espalier
