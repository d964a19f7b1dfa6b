// Loops of one's own that are stopped and go on, under one device and under workers.
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/espalier.h"
#include "format/checkpoint.h"
#include "train/dying_loop_test.h"

namespace espalier {
namespace {

void expect_loops_end_alike(const std::vector<int>& worlds, const std::vector<int64_t>& deaths) {
  for (Dataset (*data)() : {in_memory, in_shards})
    for (const int world : worlds) {
      LoopProgram program{no_checkpoints("bits"), data};
      const LoopOutcome wanted = program.run(world);
      ASSERT_GT(wanted.calls, 10);
      ASSERT_GT(wanted.bits.size(), 12u);
      for (const int64_t dies : deaths) {
        std::filesystem::remove_all(program.folder);
        program.run(world, {.call = dies});
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

// In the calls of a run that nothing disturbs.
void expect_each_row_once(const std::vector<std::pair<int, int>>& worlds,
                          const std::vector<int64_t>& deaths) {
  for (Dataset (*data)() : {in_memory, in_shards}) {
    const RowsOfCalls whole = LoopProgram{no_checkpoints("whole"), data}.run(0).rows;
    for (const auto& [before, behind] : worlds)
      for (const int64_t dies : deaths) {
        const LoopProgram program{no_checkpoints("workers"), data};
        RowsOfCalls all = program.run(before, {.call = dies}).rows;
        const RowsOfCalls second = program.run(behind).rows;
        EXPECT_EQ(second.begin()->first, dies / 4 * 4 + 1);
        all.erase(all.lower_bound(second.begin()->first), all.end());
        all.insert(second.begin(), second.end());
        EXPECT_EQ(all, whole) << before << " to " << behind << ", " << dies;
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
    program.run(world, {.call = 8});
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
    program.run(2, {.call = 8});
    const std::string before = posix_env().read_file(program.folder + "/checkpoint-2");
    on_each_worker(2, [&](const Strategy& strategy) {
      const auto scope = strategy.scope();
      set_seed(99);
      Sequential model(Dense({.units = 4, .activation = "tanh"}), Dropout(0.25), Dense({.units = 1}));
      Optimizer optimizer(Adam{.learning_rate = 0.05, .use_ema = true});
      Metric error("mean_absolute_error");
      Variable drawn(zeros({3}), {.name = "drawn"});
      Generator own(12);
      int64_t calls = 0;
      double sum = 0;
      DistributedDataset batches = strategy.distribute(data());
      CheckpointManager checkpoints(program.folder, {{"model", model},
                                                     {"optimizer", optimizer},
                                                     {"error", error},
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
