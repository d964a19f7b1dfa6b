// Ranks that sleep are woken as soon as what they wait for has come.
#include "comm/waiting.h"

#include <algorithm>
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "comm/host.h"
#include "comm/local.h"
#include "comm/ranks_test.h"

namespace espalier {
namespace {

constexpr int kRounds = 20;
// A sleep that nobody ends takes 100 ms. A machine is seldom so busy that a thread that may run waits for
// half of that, and never in ten of twenty rounds.
constexpr int64_t kLate = 50'000'000;

BoardLayout& layout_of(Communicator& rank) { return dynamic_cast<HostCommunicator&>(rank).layout(); }

// Somebody sleeps on the bell of this rank.
bool slept_on(Communicator& rank) { return layout_of(rank).of(rank.rank()).sleepers.load() != 0; }

// The nanoseconds between the last arrival and the return of those who waited for it, in the middle of 20
// rounds.
int64_t median(std::array<int64_t, kRounds>& late) {
  std::ranges::sort(late);
  return late[kRounds / 2];
}

TEST(Waiting, ASleeperGoesOnWhenTheLastRankArrives) {
  const auto ranks = local_communicators(2);
  std::array<std::atomic<int64_t>, kRounds> arrived{};
  std::array<int64_t, kRounds> late{};
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    const Collective barrier{Collective::Kind::kBarrier, "b", "", 1, 0, nullptr, 0};
    for (size_t i = 0; i < kRounds; ++i) {
      if (rank.rank() == 1) {
        ASSERT_TRUE(comes_true([&] { return slept_on(rank); }));
        arrived[i] = monotonic_ns();
      }
      run_collective(rank, barrier, nullptr, nullptr, pool);
      if (rank.rank() == 0) late[i] = monotonic_ns() - arrived[i];
      // Nobody sleeps when the next round begins.
      rank.any(0);
    }
  });
  EXPECT_LT(median(late), kLate);
}

// Of large arrays a rank waits a second time: until others have done their part of the work.
class SlowPart {
 public:
  static void fold(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
    // The second half of the elements is the second rank's.
    if (second_ && std::this_thread::get_id() == thread_) {
      EXPECT_TRUE(comes_true([] { return slept_on(*second_); }));
      ended_ = monotonic_ns();
    }
    fold_ranks<float>(to, from, ranks, count);
  }
  static inline Communicator* second_ = nullptr;
  static inline std::thread::id thread_ = {};
  static inline std::atomic<int64_t> ended_ = 0;
};

TEST(Waiting, ASleeperGoesOnWhenTheLastPartIsDone) {
  const auto ranks = local_communicators(2);
  std::array<int64_t, kRounds> late{};
  std::atomic<size_t> returned = 0;
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    constexpr size_t kMany = 4096;  // more than travels with an announcement
    const auto data = rank.allocate(kMany * sizeof(float));
    const Collective sum{
        Collective::Kind::kAllReduce, "sum", "f32 sum", sizeof(float), kMany, SlowPart::fold, 0};
    for (size_t i = 0; i < kRounds; ++i) {
      if (rank.rank() == 1) {
        SlowPart::thread_ = std::this_thread::get_id();
        SlowPart::second_ = &rank;
      }
      rank.any(0);
      run_collective(rank, sum, data.get(), nullptr, pool);
      if (rank.rank() == 0) {
        late[i] = monotonic_ns() - SlowPart::ended_;
        returned = i + 1;
      } else {
        // What this rank announces next would wake the other one.
        ASSERT_TRUE(comes_true([&] { return returned > i; }));
      }
      rank.any(0);
    }
  });
  SlowPart::second_ = nullptr;
  EXPECT_LT(median(late), kLate);
}

// The system is asked only where somebody sleeps: a bell that nobody waits for does not move.
TEST(Waiting, ABellRingsOnlyForSleepers) {
  const auto ranks = local_communicators(1);
  RankBlock& block = layout_of(*ranks[0]).of(0);
  const uint32_t before = block.bell.load();
  ring(block);
  EXPECT_EQ(block.bell.load(), before);
  block.sleepers = 1;
  ring(block);
  EXPECT_EQ(block.bell.load(), before + 1);
  block.sleepers = 0;
  ring_all(layout_of(*ranks[0]));
  EXPECT_EQ(block.bell.load(), before + 2);
}

// Not a moment where it is there, and not at all where the run was given up.
TEST(Waiting, NobodySleepsForWhatHasCome) {
  const auto ranks = local_communicators(1);
  BoardLayout& board = layout_of(*ranks[0]);
  RankBlock& block = board.of(0);
  block.announced = 5;
  EXPECT_TRUE(comes_soon(block.announced, 5, true) && comes_soon(block.announced, 4, false));
  EXPECT_FALSE(comes_soon(block.announced, 6, true) || comes_soon(block.announced, 6, false));
  std::array<int64_t, kRounds> there{}, given_up{};
  for (int64_t& took : there) {
    const int64_t begin = monotonic_ns();
    sleep_until(board, block, block.announced, 5);
    took = monotonic_ns() - begin;
  }
  EXPECT_LT(median(there), kLate);
  board.given_up = 1;
  for (int64_t& took : given_up) {
    const int64_t begin = monotonic_ns();
    sleep_until(board, block, block.announced, 6);
    took = monotonic_ns() - begin;
  }
  EXPECT_LT(median(given_up), kLate);
  EXPECT_EQ(block.sleepers.load(), 0u);
}

}  // namespace
}  // namespace espalier
