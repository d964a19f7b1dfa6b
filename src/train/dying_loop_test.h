// A loop of one's own that dies, and goes on from its checkpoints, under one device and under workers.
#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "data/dataset_sources_test.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"
#include "train/shard_readers_test.h"

namespace espalier {

struct LoopDies final : std::exception {
  const char* what() const noexcept override { return "the loop dies"; }
};

// In a call, counted from 1.
struct LoopDeath {
  enum Where { kBeforeTheCall, kBehindTheCall, kBehindTheSave };
  int64_t call = -1;
  int worker = -1;  // -1: all of them
  Where where = kBehindTheSave;
};

// A folder of this test alone, since tests run at once.
inline std::string no_checkpoints(const std::string& name) {
  std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ranges::replace(test, '/', '_');
  const std::string out = cat(testing::TempDir(), "/checkpoints_", name, "_", test);
  std::filesystem::remove_all(out);
  return out;
}

// Rows (x f32[2], y f32[1], the number of the row): of 40 rows in memory, shuffled, twice; of eight uneven
// shards; of these shuffled, twice.
inline Dataset in_memory() {
  const Tensor ids = arange(40);
  const Tensor x = reshape(convert(arange(80), DType::kF32), {40, 2}) / 40;
  return Dataset::from_tensor_slices({x, espalier::sum(x * x, 1, true), convert(ids, DType::kI32)})
      .shuffle(15)
      .batch(6)
      .repeat(2);
}
inline Dataset rows_in_shards() {
  return NumberedShards{kUneven, Finds::kByBytes}.dataset().map(
      [](const Tensor& x, const Tensor& id) -> Tensors {
        const Tensor values = convert(x, DType::kF32) / 4000.0;
        return {values, reshape(convert(id, DType::kF32), {1}) / 2000.0, id};
      });
}
inline Dataset in_shards() { return rows_in_shards().batch(7); }
inline Dataset in_shuffled_shards() { return rows_in_shards().shuffle(30).batch(9).repeat(2); }

// By number, how often each row comes.
inline std::map<int, int> rows_of(Dataset (*data)()) {
  std::map<int, int> out;
  if (data == in_memory)
    for (int id = 0; id < 40; ++id) out[id] = 2;
  else
    for (size_t shard = 0; shard < kUneven.size(); ++shard)
      for (int64_t i = 0; i < kUneven[shard]; ++i)
        out[NumberedSource::value(static_cast<int64_t>(shard), i)] = data == in_shuffled_shards ? 2 : 1;
  return out;
}

using RowsOfCalls = std::map<int64_t, std::multiset<int>>;

// What a program leaves.
struct LoopOutcome {
  std::map<std::string, std::vector<std::byte>> bits;  // by name, of all that is tracked
  RowsOfCalls rows;                                    // of all workers
  std::vector<std::optional<int64_t>> restored;        // by worker
  std::vector<std::string> errors;                     // by worker
  int64_t calls = 0;
};

struct LoopProgram {
  std::string folder;
  Dataset (*data)() = in_memory;
  uint64_t seed = 3;
  int64_t save_every = 4;
  int logical_shards = 0;

  // To the end, or to its death. `world` 0: on one device, -1: on two of this process.
  LoopOutcome run(int world, const LoopDeath& death = {}) const {
    LoopOutcome out;
    out.restored.resize(static_cast<size_t>(std::max(world, 1)));
    std::mutex mutex;
    const auto on = [&](const Strategy& strategy) {
      try {
        loop(strategy, death, out, mutex);
      } catch (const LoopDies&) {
        // Of one worker the others hear.
        if (death.worker >= 0 && world > 0) throw;
      }
    };
    if (world > 0) {
      out.errors = errors_of_workers(world, on, "", {}, {.logical_shards = logical_shards});
      return out;
    }
    const RunContext context({.threads = 1});
    const RunScope scope(context);
    if (world == 0)
      on(strategy::OneDevice({.logical_shards = logical_shards}));
    else
      on(strategy::Mirrored({.devices = 2, .logical_shards = logical_shards}));
    return out;
  }

  void loop(const Strategy& strategy, const LoopDeath& death, LoopOutcome& out, std::mutex& mutex) const {
    const auto scope = strategy.scope();
    set_seed(seed);
    Sequential model(Dense({.units = 4, .activation = "tanh"}), Dropout(0.25), Dense({.units = 1}));
    Optimizer optimizer(Adam{.learning_rate = 0.05, .use_ema = true});
    const Loss loss = MeanSquaredError();
    Metric error("mean_absolute_error");
    Variable drawn(zeros({3}), {.name = "drawn"});
    Generator own(11);
    int64_t calls = 0;
    double sum = 0;
    DistributedDataset batches = strategy.distribute(data());
    CheckpointManager checkpoints(folder,
                                  {{"model", model},
                                   {"optimizer", optimizer},
                                   {"error", error},
                                   {"batches", batches},
                                   {"drawn", drawn},
                                   {"own", own},
                                   {"calls", calls},
                                   {"sum", sum}},
                                  {.max_to_keep = 2});
    out.restored[static_cast<size_t>(strategy.worker())] = checkpoints.restore();
    const auto step = function(
        [&](const Tensor& x, const Tensor& y) {
          const TrainingScope training(true);
          GradientTape tape;
          const Tensor found = model(x);
          const LossSums sums = loss.sums(y, found);
          const Tensor rows = strategy::all_reduce({sums.weight})[0];
          const auto weights = model.trainable_variables();
          optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / rows, weights)), weights);
          error.update(y, found);
        },
        {.name = "step"});
    const auto dies = [&](int64_t call, LoopDeath::Where where) {
      const bool here = death.worker < 0 || death.worker == strategy.worker();
      if (here && death.call == call && death.where == where) throw LoopDies();
    };
    while (const auto batch = batches.next()) {
      dies(calls + 1, LoopDeath::kBeforeTheCall);
      strategy.run(step, {(*batch)[0], (*batch)[1]});
      ++calls;
      drawn.assign_add(random_normal({3}) + own.normal({3}));
      sum += 0.1;
      {
        const std::lock_guard lock(mutex);
        for (const Tensor& ids : (*batch)[2].values)
          for (const int id : ids.to_vector<int32_t>()) out.rows[calls].insert(id);
      }
      dies(calls, LoopDeath::kBehindTheCall);
      if (calls % save_every == 0) checkpoints.save();
      dies(calls, LoopDeath::kBehindTheSave);
    }
    if (strategy.worker() != 0) return;
    out.calls = calls;
    const auto keep = [&](const std::string& name, const Tensor& value) {
      const auto* const bytes = static_cast<const std::byte*>(value.bytes());
      out.bits[name].assign(bytes, bytes + value.type().bytes());
    };
    for (const Variable& variable : model.variables()) keep(variable.path(), variable);
    for (const Variable& variable : optimizer.variables()) keep(variable.path(), variable);
    for (const Variable& variable : error.variables()) keep("error/" + variable.path(), variable);
    keep("drawn", drawn);
    keep("sum", Tensor::scalar(sum));
  }
};

}  // namespace espalier
