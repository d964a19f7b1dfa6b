// That the thread sanitizer understands what orders ranks, and finds where nothing does.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "comm/ranks_test.h"

namespace espalier {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kFindsRaces = true;
#else
constexpr bool kFindsRaces = false;
#endif

class PlantedRaces : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFindsRaces) GTEST_SKIP() << "the thread sanitizer alone finds races: the preset tsan";
    // Threads, in a program that begins anew.
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }
};

void meet(Communicator& ranks, ThreadPool& pool) { ranks.done(ranks.start({}, nullptr, nullptr), pool); }

// Threads that wait for each other, and what each did before is not ordered by it: a race is one in every
// run.
class UnorderedSteps {
 public:
  void done() { done_.fetch_add(1, std::memory_order_relaxed); }
  void wait_for(int steps) const {
    while (done_.load(std::memory_order_relaxed) < steps) std::this_thread::yield();
  }

 private:
  std::atomic<int> done_{0};
};

// Both ranks count in one variable, one after the other; `by_barrier`: since there is a barrier between them.
// The process ends with 0.
[[noreturn]] void count_on_both(bool by_barrier) {
  int counted = 0;
  UnorderedSteps steps;
  on_threads(local_communicators(2), [&](Communicator& ranks, ThreadPool& pool) {
    meet(ranks, pool);
    if (by_barrier && ranks.rank() == 1) meet(ranks, pool);
    if (!by_barrier) steps.wait_for(ranks.rank());
    ++counted;
    steps.done();
    if (!by_barrier) steps.wait_for(2);
    if (by_barrier && ranks.rank() == 0) meet(ranks, pool);
    meet(ranks, pool);
  });
  std::_Exit(0);
}

// Rank 1 writes into what it gives to a sum; `early`: while the other one may read it.
[[noreturn]] void write_what_is_given(bool early) {
  UnorderedSteps steps;
  on_threads(local_communicators(2), [&](Communicator& ranks, ThreadPool& pool) {
    constexpr size_t kMany = 4096;  // more than travels with an announcement
    const auto data = ranks.allocate(kMany * sizeof(float));
    const Collective sum{
        Collective::Kind::kAllReduce, "sum", "f32 sum", sizeof(float), kMany, fold_ranks<float>};
    const uint64_t ticket = ranks.start(sum, data.get(), nullptr);
    if (early) {
      steps.done();
      steps.wait_for(2);
    } else {
      ranks.done(ticket, pool);
    }
    if (ranks.rank() == 1) {
      for (size_t i = 0; i < kMany; ++i) reinterpret_cast<float*>(data.get())[i] = 1;
    }
    if (early) ranks.done(ticket, pool);
    meet(ranks, pool);
  });
  std::_Exit(0);
}

// What a program ends with in which a race was found, unless TSAN_OPTIONS names another number.
const auto kRaceFound = testing::ExitedWithCode(66);
const auto kNoneFound = testing::ExitedWithCode(0);

TEST_F(PlantedRaces, AVariableOfTwoRanksIsFound) {
  EXPECT_EXIT(count_on_both(false), kRaceFound, "WARNING: ThreadSanitizer: data race");
  EXPECT_EXIT(count_on_both(true), kNoneFound, "^$");
}

TEST_F(PlantedRaces, AWriteIntoACollectiveThatRunsIsFound) {
  EXPECT_EXIT(write_what_is_given(true), kRaceFound, "WARNING: ThreadSanitizer: data race");
  EXPECT_EXIT(write_what_is_given(false), kNoneFound, "^$");
}

}  // namespace
}  // namespace espalier
