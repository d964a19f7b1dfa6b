#include "base/thread_stacks.h"

#include <pthread.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>

#include <gtest/gtest.h>

namespace espalier {
namespace {

size_t stack_of_this_thread() {
  pthread_attr_t attributes;
  EXPECT_EQ(::pthread_getattr_np(::pthread_self(), &attributes), 0);
  size_t bytes = 0;
  EXPECT_EQ(::pthread_attr_getstacksize(&attributes, &bytes), 0);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

template <class Make>
size_t stack_of(const Make& make) {
  size_t bytes = 0;
  std::thread thread = make([&] { bytes = stack_of_this_thread(); });
  thread.join();
  return bytes;
}
size_t stack_of_plain() {
  return stack_of([](auto body) { return std::thread(body); });
}
size_t stack_of_ours() {
  return stack_of([](auto body) { return thread_with_stack(body); });
}

// Run below, by a shell that has set the limit.
TEST(ThreadStacks, DISABLED_UnderASmallLimit) {
  const size_t before = stack_of_plain();
  EXPECT_LT(before, size_t{2} << 20);
  EXPECT_GE(stack_of_ours(), ThreadStacks::kBytes);
  EXPECT_EQ(stack_of_plain(), before) << "those of the program are its own";
  {
    const ThreadStacks outer;
    { const ThreadStacks inner; }
    EXPECT_GE(stack_of_plain(), ThreadStacks::kBytes);
    EXPECT_GE(std::async(std::launch::async, stack_of_this_thread).get(), ThreadStacks::kBytes);
  }
  EXPECT_EQ(stack_of_plain(), before);
}

TEST(ThreadStacks, AreLargeUnderASmallLimit) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_EQ(
      std::system(("ulimit -s 256 && " + self +
                   " --gtest_also_run_disabled_tests --gtest_filter=ThreadStacks.DISABLED_UnderASmallLimit "
                   "> /dev/null")
                      .c_str()),
      0);
}

TEST(ThreadStacks, AreAtLeastThatInAnyCase) { EXPECT_GE(stack_of_ours(), ThreadStacks::kBytes - (64 << 10)); }

}  // namespace
}  // namespace espalier
