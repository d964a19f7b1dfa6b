#include "base/own_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/thread_pool.h"

namespace espalier {
namespace {

// Whether `body` is true in a child of this process, which has a minute.
template <class Body>
bool holds_in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(OwnProcess, ChildrenAreNotTheirParents) {
  OwnProcess parents;
  EXPECT_FALSE(parents.forked());
  EXPECT_TRUE(holds_in_child([&] {
    const OwnProcess own;
    return parents.forked() && !own.forked() &&
           holds_in_child([&] { return parents.forked() && own.forked(); });
  }));
  EXPECT_TRUE(holds_in_child([&] {
    parents.take();
    return !parents.forked();
  }));
  EXPECT_FALSE(parents.forked());
}

// Three chunks that wait for each other need a thread each.
bool three_meet(ThreadPool& pool) {
  std::atomic<int> here{0};
  pool.parallel_for(3, [&](int64_t) {
    here.fetch_add(1);
    while (here.load() < 3) std::this_thread::yield();
  });
  return here == 3;
}

TEST(OwnProcess, AForkedChildHasHelpersOfItsOwn) {
  auto pool = std::make_unique<ThreadPool>(3);
  ASSERT_TRUE(three_meet(*pool));
  EXPECT_TRUE(holds_in_child([&] {
    if (!three_meet(*pool) || !three_meet(*pool)) return false;
    return holds_in_child([&] { return three_meet(*pool); });
  }));
  EXPECT_TRUE(holds_in_child([&] {
    pool->set_threads(4);
    return three_meet(*pool) && pool->threads() == 4;
  }));
  EXPECT_TRUE(holds_in_child([&] {
    pool.reset();
    return true;
  }));
  EXPECT_TRUE(three_meet(*pool));
}

// Work that another thread of the parent has in hand is the parent's.
TEST(OwnProcess, AForkedChildDoesNotWaitForJobsOfOtherThreads) {
  ThreadPool pool(3);
  std::atomic<int> begun{0};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    pool.parallel_for(3, [&](int64_t) {
      ++begun;
      while (!ends.load()) std::this_thread::yield();
    });
  });
  // All are at it: a thread that is still starting may hold a lock of the sanitizers, which the child would
  // have.
  while (begun.load() < 3) std::this_thread::yield();
  EXPECT_TRUE(holds_in_child([&] { return three_meet(pool); }));
  ends = true;
  other.join();
  EXPECT_TRUE(three_meet(pool));
}

}  // namespace
}  // namespace espalier
