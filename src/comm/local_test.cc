#include "comm/local.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/rule_of_test.h"
#include "comm/host.h"
#include "comm/ranks_test.h"
#include "comm/waiting.h"

namespace espalier {
namespace {

// Both sides of one line of the cache, of what travels with an announcement, and of 64 KiB.
constexpr size_t kCounts[] = {0, 1, 3, 7, 16, 17, 255, 256, 257, 511, 512, 513, 16383, 16385};

TEST(LocalRanks, GiveWhatOneLoopGives) {
  for (const int world : {1, 2, 3, 5, 8})
    on_threads(local_communicators(world), [&](Communicator& ranks, ThreadPool& pool) {
      uint64_t round = 0;
      for (const size_t count : kCounts) run_cases(ranks, pool, count, round += 2, true);
    });
}

TEST(LocalRanks, SlowMegabytes) {
  for (const int world : {2, 5})
    on_threads(local_communicators(world), [&](Communicator& ranks, ThreadPool&) {
      ThreadPool pool(2);
      run_cases(ranks, pool, (size_t{1} << 19) + 5, 100, true);
    });
}

TEST(LocalRanks, RoundsWithDelays) {
  for (const int world : {2, 4, 7})
    on_threads(local_communicators(world), [&](Communicator& ranks, ThreadPool& pool) {
      Philox random(static_cast<uint64_t>(ranks.rank()));
      for (uint64_t round = 0; round < 100; ++round) {
        if (random.below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(500)));
        run_cases(ranks, pool, round % 2 ? 5 : 2000, 10 * round, true);
      }
    });
}

// More than the ring of announcements holds, so that some wait for others before they are announced.
TEST(LocalRanks, ManyBeginBeforeTheFirstIsDone) {
  for (const int world : {1, 2, 5})
    on_threads(local_communicators(world), [&](Communicator& ranks, ThreadPool& pool) {
      for (const size_t many : {size_t{3}, size_t{64}, size_t{65}, size_t{200}}) {
        std::deque<StartedCase<float>> started;
        for (size_t i = 0; i < many; ++i) {
          const CollectiveCase<float> of{i % 3 ? Collective::Kind::kAllReduce : Collective::Kind::kAllGather,
                                         i % 5 ? 10 : size_t{1500}, i, i % 2 == 0};
          started.emplace_back(ranks, of);
        }
        for (size_t i = 0; i < many; ++i) EXPECT_TRUE(started[i].done(pool)) << i << " of " << many;
      }
    });
}

TEST(LocalRanks, AnyIsTheBitsOfAll) {
  const auto ranks = local_communicators(5);
  on_threads(ranks, [&](Communicator& rank, ThreadPool&) {
    for (uint32_t round = 0; round < 300; ++round) {
      const uint32_t own = (round >> rank.rank() & 1u) << rank.rank();
      EXPECT_EQ(rank.any(own), round & 31u);
    }
  });
}

TEST(LocalRanks, SliceIsReducedByOneAndReachesAll) {
  // What another rank put where a slice of this one lies is gone after it: each byte has one owner.
  on_threads(local_communicators(3), [&](Communicator& rank, ThreadPool& pool) {
    constexpr size_t kCount = 10'007;
    const std::shared_ptr<std::byte[]> data = rank.allocate(kCount * 4);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data.get()) % 64, 0u);
    for (size_t i = 0; i < kCount * 4; ++i) EXPECT_EQ(data[i], std::byte{0});
    auto* values = reinterpret_cast<float*>(data.get());
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(rank.rank() + 1);
    const Collective what{Collective::Kind::kAllReduce, "x", "f32 sum", 4, kCount, fold_ranks<float>, 0};
    run_collective(rank, what, data.get(), nullptr, pool);
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 6) << i;
  });
}

TEST(LocalRanks, CallsOutOfOrderAreRefused) {
  const auto rank = local_communicators(1)[0];
  ThreadPool pool(1);
  const Collective barrier{Collective::Kind::kBarrier, "b", "", 1, 0, nullptr, 0};
  EXPECT_EQ(error_of([&] { rank->done(0, pool); }),
            "comm.order: collective 0 is to be done where none has begun");
  rank->start(barrier, nullptr, nullptr);
  rank->start(barrier, nullptr, nullptr);
  EXPECT_EQ(error_of([&] { rank->done(1, pool); }),
            "comm.order: collective 1 is to be done where collective 0, \"b\", is next");
  EXPECT_EQ(rule_of([&] { rank->any(1); }), "comm.order");
  rank->done(0, pool);
  rank->done(1, pool);
  EXPECT_EQ(rank->any(5), 5u);
}

TEST(LocalRanks, CallsThatNoRankCanMakeAreRefused) {
  const auto ranks = local_communicators(2);
  const auto rule = [&](Collective what) {
    return rule_of([&] { ranks[0]->start(what, nullptr, nullptr); });
  };
  EXPECT_EQ(rule({Collective::Kind::kAllReduce, "x", "f32", 4, 8, nullptr, 0}), "comm.call");
  EXPECT_EQ(rule({Collective::Kind::kReduceScatter, "x", "f32", 4, 3, fold_ranks<float>, 0}), "comm.call");
  EXPECT_EQ(rule({Collective::Kind::kBroadcast, "x", "f32", 4, 8, nullptr, 2}), "comm.call");
  EXPECT_EQ(rule({Collective::Kind::kBroadcast, "x", "f32", 4, SIZE_MAX / 2, nullptr, 0}), "comm.call");
  EXPECT_EQ(rule({Collective::Kind::kAllGather, "x", "f32", 0, 8, nullptr, 0}), "comm.call");
  EXPECT_EQ(rule_of([] { local_communicators(0); }), "comm.world");
  EXPECT_EQ(rule_of([] { local_communicators(257); }), "comm.world");
}

TEST(LocalRanks, MismatchIsTheSameSentenceOnAll) {
  const auto ranks = local_communicators(4);
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    const auto data = rank.allocate(4 * 4 * 1000);
    EXPECT_EQ(rank.any(0), 0u);
    const Collective reduce{
        Collective::Kind::kAllReduce, "gradients/1", "f32 sum", 4, 1000, fold_ranks<float>, 0};
    const Collective gather{Collective::Kind::kAllGather, "header", "u32", 4, 12, nullptr, 0};
    const auto call = [&] {
      run_collective(rank, rank.rank() == 2 ? reduce : gather, data.get(), data.get(), pool);
    };
    const std::string text =
        "comm.mismatch: rank 2 calls all_reduce \"gradients/1\" of 1000 f32 sum where ranks 0, 1, 3 call "
        "all_gather "
        "\"header\" of 12 u32";
    EXPECT_EQ(error_of(call), text);
    EXPECT_EQ(error_of(call), text) << "the second time";
    EXPECT_EQ(error_of([&] { rank.any(1); }), text);
  });
}

TEST(LocalRanks, AnyIsNoOtherCollective) {
  on_threads(local_communicators(2), [&](Communicator& rank, ThreadPool& pool) {
    const Collective barrier{Collective::Kind::kBarrier, "end", "", 1, 0, nullptr, 0};
    EXPECT_EQ(error_of([&] {
                if (rank.rank() == 0)
                  rank.any(1);
                else
                  run_collective(rank, barrier, nullptr, nullptr, pool);
              }),
              "comm.mismatch: rank 1 calls barrier \"end\" where rank 0 calls vote");
  });
}

TEST(LocalRanks, AbortEndsEveryWait) {
  const auto ranks = local_communicators(4);
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    const Collective barrier{Collective::Kind::kBarrier, "b", "", 1, 0, nullptr, 0};
    if (rank.rank() == 3) {
      EXPECT_TRUE(comes_true([&] { return all_wait(*board_of(rank), 3); }));
      rank.abort("rank 3 threw: no such file");
      rank.abort("another reason");
    } else {
      EXPECT_EQ(error_of([&] { run_collective(rank, barrier, nullptr, nullptr, pool); }),
                "comm.verdict: rank 3 threw: no such file");
    }
    EXPECT_EQ(error_of([&] { rank.start(barrier, nullptr, nullptr); }),
              "comm.verdict: rank 3 threw: no such file");
    EXPECT_EQ(error_of([&] { rank.any(0); }), "comm.verdict: rank 3 threw: no such file");
  });
  EXPECT_EQ(board_of(*ranks[0])->verdict(), "rank 3 threw: no such file");
}

// The memory of a rank that gave up is gone at once; with a sanitizer this shows whether others still write.
TEST(LocalRanks, SlowNobodyTouchesMemoryOfOneThatGaveUp) {
  for (int round = 0; round < 40; ++round) {
    const auto ranks = local_communicators(3);
    on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
      constexpr size_t kCount = 200'000;
      const Collective what{Collective::Kind::kAllReduce, "x", "f32 sum", 4, kCount, fold_ranks<float>, 0};
      std::shared_ptr<std::byte[]> data = rank.allocate(4 * kCount);
      try {
        for (int i = 0; i < 50; ++i) {
          const uint64_t ticket = rank.start(what, data.get(), nullptr);
          if (rank.rank() == 1 && i == round % 7) {
            std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
            rank.abort("gone");
            data.reset();
            return;
          }
          rank.done(ticket, pool);
        }
        ADD_FAILURE() << "nobody told rank " << rank.rank();
      } catch (const RunError& error) {
        EXPECT_EQ(error.rule(), "comm.verdict");
      }
    });
  }
}

// Given up behind the last look at it and before the work: a rank that has met the others touches nothing
// then. The last announcement and the end of the run are put on the board at once, as this rank sleeps.
TEST(LocalRanks, NobodyWorksInMemoryOfARunThatIsGivenUp) {
  static std::atomic<int> works;
  works = 0;
  constexpr size_t kMany = 4096;  // more than travels with an announcement
  const Collective sum{Collective::Kind::kAllReduce,
                       "sum",
                       "f32 sum",
                       4,
                       kMany,
                       [](std::byte*, const std::byte* const*, int, size_t) { ++works; },
                       0};
  const auto ranks = local_communicators(2);
  const auto data = ranks[0]->allocate(4 * kMany), others = ranks[1]->allocate(4 * kMany);
  const uint64_t ticket = ranks[0]->start(sum, data.get(), nullptr);
  ranks[1]->start(sum, others.get(), nullptr);
  BoardLayout& board = dynamic_cast<HostCommunicator&>(*ranks[0]).layout();
  RankBlock& late = board.of(1);
  late.announced = 0;
  std::string error;
  std::thread first([&] {
    ThreadPool pool(1);
    error = error_of([&] { ranks[0]->done(ticket, pool); });
  });
  EXPECT_TRUE(comes_true([&] { return late.sleepers.load() != 0; }));
  board.why.store("gone");
  board.why_state = 2;
  board.given_up = 1;
  late.announced = 1;
  ring(late);
  first.join();
  EXPECT_EQ(error, "comm.verdict: gone");
  EXPECT_EQ(works, 0);
  EXPECT_EQ(board.of(0).works.load(), 0u);
}

TEST(LocalRanks, OneThatLeavesBeforeItIsDoneTellsOthers) {
  auto ranks = local_communicators(2);
  const Collective barrier{Collective::Kind::kBarrier, "epoch", "", 1, 0, nullptr, 0};
  ranks[1]->start(barrier, nullptr, nullptr);
  ranks.pop_back();
  ThreadPool pool(1);
  EXPECT_EQ(error_of([&] {
              run_collective(*ranks[0], barrier, nullptr, nullptr, pool);
              run_collective(*ranks[0], barrier, nullptr, nullptr, pool);
            }),
            "comm.verdict: rank 1 has left before barrier \"epoch\" was done");
}

}  // namespace
}  // namespace espalier
