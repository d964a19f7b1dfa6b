#include "ir/thread_chain.h"

#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace espalier {
namespace {

struct Named : ThreadChain<Named> {
  explicit Named(char name) : name(name) {}
  char name;
};

std::string names() {
  std::string out;
  Named::each([&](const Named& named) { out += named.name; });
  return out;
}

TEST(ThreadChain, HoldsWhatLivesNewestFirst) {
  EXPECT_EQ(names(), "");
  const Named a('a');
  auto b = std::make_unique<Named>('b');
  const Named c('c');
  EXPECT_EQ(names(), "cba");
  b.reset();
  EXPECT_EQ(names(), "ca");
  std::thread([] { EXPECT_EQ(names(), ""); }).join();
}

TEST(ThreadChain, OneThatEndsOnAnotherThreadLeavesItsOwn) {
  const Named a('a');
  auto b = std::make_unique<Named>('b');
  auto c = std::make_unique<Named>('c');
  std::thread([&] {
    const Named other('o');
    b.reset();
    EXPECT_EQ(names(), "o");
    c.reset();
    EXPECT_EQ(names(), "o");
  }).join();
  EXPECT_EQ(names(), "a");
}

TEST(ThreadChain, OneMayOutliveItsThread) {
  std::unique_ptr<Named> a, b, c;
  std::thread([&] {
    a = std::make_unique<Named>('a');
    b = std::make_unique<Named>('b');
    c = std::make_unique<Named>('c');
  }).join();
  b.reset();
  const Named d('d');
  // Likely where the first thread was.
  std::thread([&] {
    const Named e('e');
    c.reset();
    EXPECT_EQ(names(), "e");
  }).join();
  a.reset();
  EXPECT_EQ(names(), "d");
}

}  // namespace
}  // namespace espalier
