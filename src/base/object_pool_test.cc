#include "base/object_pool.h"

#include <thread>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(ObjectPool, GivesWhatItWasGivenAndNothingElse) {
  ObjectPool<int> pool;
  EXPECT_EQ(pool.take(), nullptr);
  for (const int i : {1, 2, 3}) pool.give(std::make_unique<int>(i));
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += *pool.take();
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(pool.take(), nullptr);
  pool.give(std::make_unique<int>(4));
  EXPECT_EQ(*pool.take(), 4);
}

TEST(ObjectPool, AnObjectHasOneUserAtATime) {
  struct Object {
    int users = 0, uses = 0;
  };
  constexpr int kThreads = 4, kUses = 2000;
  ObjectPool<Object> pool;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kUses; ++k) {
        std::unique_ptr<Object> object = pool.take();
        if (!object) object = std::make_unique<Object>();
        EXPECT_EQ(++object->users, 1);
        ++object->uses;
        --object->users;
        pool.give(std::move(object));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int uses = 0;
  while (const auto object = pool.take()) uses += object->uses;
  EXPECT_EQ(uses, kThreads * kUses);
}

}  // namespace
}  // namespace espalier
