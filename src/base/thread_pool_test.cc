#include "base/thread_pool.h"

#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/float_environment.h"
#include "espalier/error.h"
#include "espalier/threads.h"

namespace espalier {
namespace {

TEST(ThreadPool, EveryChunkRunsOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const int64_t chunks : {0, 1, 2, 7, 1000, 70000}) {
      std::vector<std::atomic<int>> hits(chunks);
      pool.parallel_for(chunks, [&](int64_t i) { hits[i].fetch_add(1, std::memory_order_relaxed); });
      for (int64_t i = 0; i < chunks; ++i) ASSERT_EQ(hits[i].load(), 1) << i << " of " << chunks;
    }
  }
}

TEST(ThreadPool, ManyShortJobs) {
  ThreadPool pool(3);
  int64_t sum = 0;
  for (int job = 0; job < 5000; ++job) {
    int64_t parts[5];
    pool.parallel_for(5, [&](int64_t i) { parts[i] = job + i; });
    sum += std::accumulate(parts, parts + 5, int64_t{0});
  }
  EXPECT_EQ(sum, 5 * (5000LL * 4999 / 2) + 10 * 5000LL);
}

TEST(ThreadPool, JobsAfterHelpersHaveParked) {
  ThreadPool pool(3);
  for (int job = 0; job < 20; ++job) {
    std::atomic<int> count{0};
    pool.parallel_for(64, [&](int64_t) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 64);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPool, NestedCallsRunInTheirChunk) {
  ThreadPool pool(3);
  std::atomic<int> count{0};
  pool.parallel_for(8, [&](int64_t) {
    const auto self = std::this_thread::get_id();
    pool.parallel_for(8, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      count.fetch_add(1);
    });
  });
  EXPECT_EQ(count.load(), 64);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) pool.parallel_for(6, [&](int64_t i) { total.fetch_add(i); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 500 * 15);
}

TEST(ThreadPool, SpareWorkIsDoneOnceBesideJobs) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    SpareWork nothing;
    nothing.finish();
    for (int round = 0; round < 300; ++round) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(round)), more(5);
      const auto hit = [&](int64_t i) { hits[static_cast<size_t>(i)].fetch_add(1); };
      const auto hit_more = [&](int64_t i) { more[static_cast<size_t>(i)].fetch_add(1); };
      std::atomic<int64_t> sum{0};
      {
        SpareWork spare, second;
        spare.start(pool, round, hit);
        second.start(pool, 5, hit_more);  // the place is taken
        for (int job = 0; job < 3; ++job) pool.parallel_for(7, [&](int64_t i) { sum.fetch_add(i); });
        if (round % 2) spare.finish();
      }
      EXPECT_EQ(sum.load(), 3 * 21);
      for (const auto& count : hits) ASSERT_EQ(count.load(), 1);
      for (const auto& count : more) ASSERT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, HelpersDoSpareWorkWhileTheOwnerDoesNothing) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    const auto count = [&](int64_t) { done.fetch_add(1); };
    SpareWork spare;
    spare.start(pool, 4, count);
    pool.parallel_for(2, [](int64_t) {});  // wakes the helper
    ASSERT_TRUE(comes_true([&] { return done == 4; })) << done;
  }
}

TEST(ThreadPool, SpareWorkSurvivesAChangeOfThreads) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    const auto count = [&](int64_t) { done.fetch_add(1); };
    SpareWork spare;
    spare.start(pool, 100, count);
    pool.set_threads(1 + round % 3);
    spare.finish();
    EXPECT_EQ(done.load(), 100);
  }
}

TEST(ThreadPool, ExceptionsReachTheCaller) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.parallel_for(100,
                                   [](int64_t i) {
                                     if (i == 61) throw std::runtime_error("x");
                                   }),
                 std::runtime_error);
    std::atomic<int> count{0};
    pool.parallel_for(10, [&](int64_t) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 10);
  }
}

TEST(ThreadPool, SizeCanChange) {
  ThreadPool pool(1);
  for (const int threads : {3, 1, 2}) {
    pool.set_threads(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::atomic<int> count{0};
    pool.parallel_for(100, [&](int64_t) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 100);
  }
  EXPECT_GE(default_threads(), 1);
}

#if defined(__SSE__)
float halve(float x) {
  volatile float y = x;
  y = y * 0.5f;
  return y;
}

TEST(FloatEnvironment, FlushesAndRestores) {
  const float least = std::numeric_limits<float>::min();
  EXPECT_GT(halve(least), 0.0f);
  {
    FloatEnvironment mode;
    EXPECT_EQ(halve(least), 0.0f);
    FloatEnvironment again;
    EXPECT_EQ(halve(least), 0.0f);
  }
  EXPECT_GT(halve(least), 0.0f);
}

TEST(FloatEnvironment, HoldsOnHelpers) {
  ThreadPool pool(3);
  FloatEnvironment mode;
  std::atomic<int> kept{0};
  pool.parallel_for(1000, [&](int64_t) {
    if (halve(std::numeric_limits<float>::min()) != 0.0f) kept.fetch_add(1);
  });
  EXPECT_EQ(kept.load(), 0);
}

TEST(FloatEnvironment, HelpersHaveTheirCallers) {
  ThreadPool pool(3);
  std::atomic<int> lost{0};
  const uint64_t before = pool.helped();
  while (pool.helped() < before + 20) {
    pool.parallel_for(1000, [&](int64_t) {
      if (halve(std::numeric_limits<float>::min()) == 0.0f) lost.fetch_add(1);
    });
  }
  EXPECT_EQ(lost.load(), 0);
}
#endif

TEST(ThreadPool, WhatHelpersDidIsCountedOnceTheCallReturns) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  while (pool.helped() < 500'000) {
    std::atomic<uint64_t> elsewhere{0};
    const uint64_t before = pool.helped();
    pool.parallel_for(64, [&](int64_t) { elsewhere += std::this_thread::get_id() != caller; });
    ASSERT_EQ(pool.helped(), before + elsewhere);
  }
}

TEST(ThreadPool, TheProcessTakesOneToManyThreads) {
  const int before = threads();
  set_threads(3);
  EXPECT_EQ(threads(), 3);
  EXPECT_EQ(thread_pool().threads(), 3);
  for (const int wrong : {0, -1, 1025}) EXPECT_THROW(set_threads(wrong), ValueError);
  EXPECT_EQ(threads(), 3);
  set_threads(before);
}

}  // namespace
}  // namespace espalier
