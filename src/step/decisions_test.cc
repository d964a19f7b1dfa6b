#include "step/decisions.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

// Other ranks that say `bits` from the call of that number on, counted from 1.
struct Others final : Communicator {
  Others(uint32_t bits, int64_t from) : bits(bits), from(from) {}
  int rank() const override { return 0; }
  int world() const override { return 2; }
  uint32_t any(uint32_t mine) override { return ++calls >= from ? mine | bits : mine; }
  uint32_t bits;
  int64_t from, calls = 0;
};

TEST(Decisions, HoldWhereTheyHoldOnAnyRank) {
  const auto of = [](unsigned bits) {
    return Decisions{(bits & 1) != 0,  (bits & 2) != 0,  (bits & 4) != 0, (bits & 8) != 0,
                     (bits & 16) != 0, (bits & 32) != 0, (bits & 64) != 0};
  };
  const RunContext alone;
  for (unsigned mine = 0; mine < 128; ++mine) {
    EXPECT_EQ(agreed(of(mine), alone), of(mine));
    for (const unsigned theirs : {0U, 1U, 2U, 4U, 8U, 16U, 32U, 64U, 127U}) {
      // What the other rank sends is what agreed() sends for it.
      struct Echo final : Communicator {
        int rank() const override { return 0; }
        int world() const override { return 2; }
        uint32_t any(uint32_t bits) override { return sent = bits; }
        uint32_t sent = 0;
      } echo;
      agreed(of(theirs), RunContext({.communicator = &echo}));
      Others others(echo.sent, 1);
      EXPECT_EQ(agreed(of(mine), RunContext({.communicator = &others})), of(mine | theirs)) << mine << theirs;
    }
  }
}

// Two ranks on two threads: what one of them says is what both do.
struct Pair {
  std::mutex mutex;
  std::condition_variable both;
  int waiting = 0;
  uint64_t round = 0;
  uint32_t bits = 0, result = 0;
};
struct OneOfTwo final : Communicator {
  OneOfTwo(Pair& pair, int number) : pair(pair), number(number) {}
  int rank() const override { return number; }
  int world() const override { return 2; }
  uint32_t any(uint32_t mine) override {
    std::unique_lock lock(pair.mutex);
    pair.bits |= mine;
    const uint64_t round = pair.round;
    if (++pair.waiting == 2) {
      pair.result = pair.bits;
      pair.bits = 0;
      pair.waiting = 0;
      ++pair.round;
      pair.both.notify_all();
    } else if (!pair.both.wait_for(lock, std::chrono::duration<double>(kTooLong),
                                   [&] { return pair.round != round; })) {
      throw StateError("test.deadline", cat("rank ", number, " waits for the other"));
    }
    return pair.result;
  }
  Pair& pair;
  int number;
};

// The steps of each epoch that a rank makes; rank 0 does something at its third step.
struct Ended {
  std::vector<int64_t> steps;
  std::string error;
};
Ended run_rank(Pair& pair, int rank, int64_t rows,
               const std::function<void(Model&, int64_t step)>& on_batch) {
  Ended out;
  OneOfTwo communicator(pair, rank);
  const RunContext context({.threads = 1, .communicator = &communicator});
  const RunScope scope(context);
  try {
    Sequential model{Dense({.units = 1})};
    model.compile({.loss = MeanSquaredError(), .metrics = {}});
    const auto counts = LambdaCallback({.on_epoch_begin = [&](int) { out.steps.push_back(0); },
                                        .on_batch_end =
                                            [&](int64_t step, const Logs&) {
                                              out.steps.back() = step;
                                              on_batch(model, step);
                                            }});
    const Tensor x = full({rows, 1}, 1);
    model.fit(x, x, {.epochs = 2, .batch_size = 2, .callbacks = {counts}});
  } catch (const Error& error) {
    out.error = error.what();
  }
  return out;
}
std::pair<Ended, Ended> run_both(const std::function<Ended(Pair&, int)>& rank) {
  Pair pair;
  Ended other;
  std::thread thread([&] { other = rank(pair, 1); });
  const Ended first = rank(pair, 0);
  thread.join();
  return {first, other};
}

TEST(Decisions, ARankThatStopsStopsAll) {
  const auto [first, other] = run_both([](Pair& pair, int rank) {
    return run_rank(pair, rank, 12, [rank](Model& model, int64_t step) {
      if (rank == 0 && step == 3) model.stop_training();
    });
  });
  EXPECT_EQ(first.error + other.error, "");
  EXPECT_EQ(first.steps, (std::vector<int64_t>{3}));
  EXPECT_EQ(other.steps, first.steps);
}

// No rank makes a step that another has no rows for.
TEST(Decisions, TheFirstEndOfDataEndsTheEpochOfAll) {
  const auto [first, other] = run_both([](Pair& pair, int rank) {
    OneOfTwo communicator(pair, rank);
    const RunContext context({.threads = 1, .communicator = &communicator});
    const RunScope scope(context);
    Ended out;
    try {
      Sequential model{Dense({.units = 1})};
      model.compile({.loss = MeanSquaredError(), .metrics = {}});
      const auto counts =
          LambdaCallback({.on_epoch_begin = [&](int) { out.steps.push_back(0); },
                          .on_batch_end = [&](int64_t step, const Logs&) { out.steps.back() = step; }});
      // A dataset whose length nobody knows.
      const int64_t rows = rank == 0 ? 10 : 6;
      const Dataset data = Dataset::from_tensor_slices({full({rows, 1}, 1), full({rows, 1}, 1)})
                               .filter([](const Tensor&, const Tensor&) { return true; })
                               .batch(2);
      model.fit(data, {.epochs = 2, .callbacks = {counts}});
    } catch (const Error& error) {
      out.error = error.what();
    }
    return out;
  });
  EXPECT_EQ(first.error + other.error, "");
  EXPECT_EQ(first.steps, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(other.steps, first.steps);
}

// A checkpoint that one rank wants is made by all, at the same step.
TEST(Decisions, ASaveOfOneRankIsASaveOfAll) {
  const std::string folder = fresh_folder("Decisions-save");
  for (const bool asked : {false, true}) {
    // agreed() is asked: once before the run, then twice or three times a step.
    Others others(asked ? 4 : 0, 5);
    const RunContext two({.threads = 1, .communicator = &others});
    const RunScope scope(two);
    const std::string place = cat(folder, "/", asked);
    Sequential model{Dense({.units = 1})};
    model.compile({.loss = MeanSquaredError(), .metrics = {}});
    const Tensor x = full({8, 1}, 1);
    bool saved = false;
    const auto looks = LambdaCallback(
        {.on_batch_end = [&](int64_t, const Logs&) { saved = saved || std::filesystem::exists(place); }});
    model.fit(x, x,
              {.epochs = 1,
               .batch_size = 2,
               .callbacks = {BackupAndRestore({.path = place, .save_freq = 1000}), looks}});
    EXPECT_EQ(saved, asked);
  }
}

}  // namespace
}  // namespace espalier
