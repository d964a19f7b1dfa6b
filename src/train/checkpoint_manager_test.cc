// Loops of one's own that are stopped and go on, under one device and under workers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"
#include "espalier/espalier.h"
#include "format/checkpoint.h"
#include "strategy/workers_test.h"
#include "train/shard_readers_test.h"

namespace espalier {
namespace {

struct LoopDies {};

std::string no_checkpoints(const std::string& name) {
  const std::string out = cat(testing::TempDir(), "/checkpoints_", name);
  std::filesystem::remove_all(out);
  return out;
}

// Rows (x f32[2], y f32[1], the number of the row): of 40 rows in memory, shuffled; of eight uneven shards.
Dataset in_memory() {
  const Tensor ids = arange(40);
  const Tensor x = reshape(convert(arange(80), DType::kF32), {40, 2}) / 40;
  return Dataset::from_tensor_slices({x, espalier::sum(x * x, 1, true), convert(ids, DType::kI32)})
      .shuffle(15)
      .batch(6)
      .repeat(2);
}
Dataset in_shards() {
  return NumberedShards{kUneven, Finds::kByBytes}
      .dataset()
      .map([](const Tensor& x, const Tensor& id) -> Tensors {
        const Tensor values = convert(x, DType::kF32) / 4000.0;
        return {values, reshape(convert(id, DType::kF32), {1}) / 2000.0, id};
      })
      .batch(7);
}

// What a program leaves.
struct LoopOutcome {
  std::map<std::string, std::vector<std::byte>> bits;  // by name, of all that is tracked
  std::multimap<int64_t, int> rows;                    // by call, of all workers
  std::vector<std::optional<int64_t>> restored;        // by worker
  int64_t calls = 0;
};

struct LoopProgram {
  std::string folder;
  Dataset (*data)() = in_memory;
  uint64_t seed = 3;
  int64_t save_every = 4;

  // Dies behind so many calls, or goes on to the end. `world` 0: on one device, -1: on two of this process.
  LoopOutcome run(int world, int64_t dies_after = -1) const {
    LoopOutcome out;
    out.restored.resize(static_cast<size_t>(std::max(world, 1)));
    std::mutex mutex;
    const auto on = [&](const Strategy& strategy) {
      try {
        loop(strategy, dies_after, out, mutex);
      } catch (const LoopDies&) {
      }
    };
    if (world > 0) {
      on_each_worker(world, on);
      return out;
    }
    const RunContext context({.threads = 1});
    const RunScope scope(context);
    if (world == 0)
      on(strategy::OneDevice());
    else
      on(strategy::Mirrored({.devices = 2}));
    return out;
  }

  void loop(const Strategy& strategy, int64_t dies_after, LoopOutcome& out, std::mutex& mutex) const {
    const auto scope = strategy.scope();
    set_seed(seed);
    Sequential model(Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1}));
    Optimizer optimizer(Adam{.learning_rate = 0.05, .use_ema = true});
    const Loss loss = MeanSquaredError();
    Variable drawn(zeros({3}), {.name = "drawn"});
    Generator own(11);
    int64_t calls = 0;
    double sum = 0;
    DistributedDataset batches = strategy.distribute(data());
    CheckpointManager checkpoints(folder,
                                  {{"model", model},
                                   {"optimizer", optimizer},
                                   {"batches", batches},
                                   {"drawn", drawn},
                                   {"own", own},
                                   {"calls", calls},
                                   {"sum", sum}},
                                  {.max_to_keep = 2});
    out.restored[static_cast<size_t>(strategy.worker())] = checkpoints.restore();
    const auto step = function(
        [&](const Tensor& x, const Tensor& y) {
          GradientTape tape;
          const LossSums sums = loss.sums(y, model(x));
          const Tensor rows = strategy::all_reduce({sums.weight})[0];
          const auto weights = model.trainable_variables();
          optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / rows, weights)), weights);
        },
        {.name = "step"});
    while (const auto batch = batches.next()) {
      strategy.run(step, {(*batch)[0], (*batch)[1]});
      ++calls;
      drawn.assign_add(random_normal({3}) + own.normal({3}));
      sum += 0.1;
      {
        const std::lock_guard lock(mutex);
        for (const Tensor& ids : (*batch)[2].values)
          for (const int id : ids.to_vector<int32_t>()) out.rows.emplace(calls, id);
      }
      if (calls % save_every == 0) checkpoints.save();
      if (calls == dies_after) throw LoopDies();
    }
    if (strategy.worker() != 0) return;
    out.calls = calls;
    const auto keep = [&](const std::string& name, const Tensor& value) {
      const auto* const bytes = static_cast<const std::byte*>(value.bytes());
      out.bits[name].assign(bytes, bytes + value.type().bytes());
    };
    for (const Variable& variable : model.variables()) keep(variable.path(), variable);
    for (const Variable& variable : optimizer.variables()) keep(variable.path(), variable);
    keep("drawn", drawn);
    keep("sum", Tensor::scalar(sum));
  }
};

std::vector<int> rows_of_calls(const std::multimap<int64_t, int>& rows, int64_t first, int64_t last) {
  std::vector<int> out;
  for (const auto& [call, id] : rows)
    if (call >= first && call <= last) out.push_back(id);
  std::ranges::sort(out);
  return out;
}

void expect_loops_end_alike(const std::vector<int>& worlds, const std::vector<int64_t>& deaths) {
  for (Dataset (*data)() : {in_memory, in_shards})
    for (const int world : worlds) {
      LoopProgram program{no_checkpoints("bits"), data};
      const LoopOutcome wanted = program.run(world);
      ASSERT_GT(wanted.calls, 10);
      ASSERT_GT(wanted.bits.size(), 12u);
      for (const int64_t dies : deaths) {
        std::filesystem::remove_all(program.folder);
        program.run(world, dies);
        // The program that goes on has another seed; that of the file counts.
        program.seed = dies < 4 ? 3 : 99;
        const LoopOutcome again = program.run(world);
        program.seed = 3;
        const auto saved = dies < 4 ? std::nullopt : std::optional(dies / 4);
        for (const auto& restored : again.restored) EXPECT_EQ(restored, saved);
        EXPECT_TRUE(again.bits == wanted.bits) << world << " died behind call " << dies;
        EXPECT_EQ(again.calls, wanted.calls);
      }
    }
}

TEST(CheckpointManager, ALoopThatDiesGoesOnToTheSameBits) { expect_loops_end_alike({0, 2}, {7}); }
TEST(CheckpointManager, SlowALoopThatDiesAnywhereGoesOnToTheSameBits) {
  expect_loops_end_alike({-1, 0, 1, 2, 3}, {3, 4, 9, 11});
}

void expect_each_row_once(const std::vector<std::pair<int, int>>& worlds,
                          const std::vector<int64_t>& deaths) {
  for (Dataset (*data)() : {in_memory, in_shards}) {
    const auto whole = rows_of_calls(LoopProgram{no_checkpoints("whole"), data}.run(0).rows, 1, 1000);
    for (const auto& [before, behind] : worlds)
      for (const int64_t dies : deaths) {
        const LoopProgram program{no_checkpoints("workers"), data};
        const LoopOutcome first = program.run(before, dies), second = program.run(behind);
        std::vector<int> all = rows_of_calls(first.rows, 1, dies / 4 * 4);
        for (const int id : rows_of_calls(second.rows, 1, 1000)) all.push_back(id);
        std::ranges::sort(all);
        EXPECT_EQ(all, whole) << before << " to " << behind << ", " << dies;
        EXPECT_EQ(second.rows.begin()->first, dies / 4 * 4 + 1);
      }
  }
}

TEST(CheckpointManager, AnotherNumberOfWorkersTrainsOnEachRowOnce) { expect_each_row_once({{3, 2}}, {5}); }
TEST(CheckpointManager, SlowAnyNumberOfWorkersGoesOnWithAnyOther) {
  expect_each_row_once({{3, 2}, {2, 3}, {3, 1}, {1, 3}, {0, 2}, {2, 0}, {-1, 3}, {3, -1}}, {6, 8});
}

// A file does not say how many wrote it, nor who goes on from it.
TEST(CheckpointManager, TheFilesOfAnyNumberOfWorkersHaveTheSameNamesAndPlaces) {
  std::vector<std::string> cursors;
  for (const int world : {0, 1, 2, 3}) {
    const LoopProgram program{no_checkpoints("files"), in_shards};
    program.run(world, 8);
    const Checkpoint file = parse_checkpoint(posix_env().read_file(program.folder + "/checkpoint-2"));
    std::string text;
    for (const auto& [name, number] : file.cursor.numbers) text += cat(name, "=", number, " ");
    for (const auto& [name, bytes] : file.cursor.bytes) text += cat(name, "=", bytes, " ");
    for (const NamedArray& array : file.variables) text += cat(array.name, " ", array.value.type(), "\n");
    cursors.push_back(text);
  }
  for (const std::string& text : cursors) EXPECT_EQ(text, cursors[0]);
}

// Told to go before its first call, a loop that went on keeps what waits for its variables.
TEST(CheckpointManager, WhatWasRestoredAndNotUsedIsSavedAsItWas) {
  for (Dataset (*data)() : {in_memory, in_shards}) {
    const LoopProgram program{no_checkpoints("unused"), data};
    program.run(2, 8);
    const std::string before = posix_env().read_file(program.folder + "/checkpoint-2");
    on_each_worker(2, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      set_seed(99);
      Sequential model(Dense({.units = 4, .activation = "tanh"}), Dense({.units = 1}));
      Optimizer optimizer(Adam{.learning_rate = 0.05, .use_ema = true});
      Variable drawn(zeros({3}), {.name = "drawn"});
      Generator own(12);
      int64_t calls = 0;
      double sum = 0;
      DistributedDataset batches = strategy.distribute(data());
      CheckpointManager checkpoints(program.folder, {{"model", model},
                                                     {"optimizer", optimizer},
                                                     {"batches", batches},
                                                     {"drawn", drawn},
                                                     {"own", own},
                                                     {"calls", calls},
                                                     {"sum", sum}});
      EXPECT_EQ(checkpoints.restore(), 2);
      EXPECT_EQ(calls, 8);
      EXPECT_EQ(checkpoints.save(), 3);
    });
    const Checkpoint a = parse_checkpoint(before),
                     b = parse_checkpoint(posix_env().read_file(program.folder + "/checkpoint-3"));
    const auto by_name = [](const Checkpoint& of) {
      std::map<std::string, std::string> out;
      for (const NamedArray& array : of.variables)
        out[array.name] = std::string(static_cast<const char*>(array.value.raw()), array.value.raw_bytes());
      return out;
    };
    EXPECT_EQ(by_name(a), by_name(b));
    EXPECT_GT(a.variables.size(), 12u);
    EXPECT_TRUE(a.cursor == b.cursor);
    EXPECT_EQ(a.seed, b.seed);
  }
}

}  // namespace
}  // namespace espalier
