// Work repeated until threads have shared it, for tests of what threads must not change.
#pragma once

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/thread_pool.h"

namespace espalier {

// Calls once() until a helper of the pool has done a part of the work, or a test has failed. A helper that a
// busy machine does not let run for a minute is a failure too.
template <class Once>
void until_helped(const ThreadPool& pool, const Once& once) {
  const uint64_t before = pool.helped();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTooLong);
  do {
    once();
    if (testing::Test::HasFailure()) return;
  } while (pool.helped() == before && std::chrono::steady_clock::now() < end);
  EXPECT_GT(pool.helped(), before) << "no helper did anything in a minute";
}
template <class Once>
void until_helped(const Once& once) {
  until_helped(thread_pool(), once);
}

}  // namespace espalier
