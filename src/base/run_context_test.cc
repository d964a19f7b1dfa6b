#include "espalier/run_context.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "base/thread_pool.h"

namespace espalier {
namespace {

TEST(RunContext, IsTheProcesssWithoutAScope) {
  const RunContext& process = RunContext::current();
  EXPECT_EQ(&process.pool, &thread_pool());
  EXPECT_EQ(process.rank, 0);
  EXPECT_EQ(process.world, 1);
  EXPECT_EQ(process.device, nullptr);
  EXPECT_EQ(process.communicator, nullptr);
  EXPECT_EQ(process.seed, 0u);
}

TEST(RunContext, ScopesNestAndBelongToTheirThread) {
  const RunContext& process = RunContext::current();
  const RunContext a({.threads = 1}), b;
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(&a.pool, &thread_pool());
  EXPECT_EQ(a.pool.threads(), 1);
  EXPECT_EQ(&b.pool, &thread_pool());
  {
    const RunScope outer(a);
    {
      const RunScope inner(b);
      EXPECT_EQ(&RunContext::current(), &b);
    }
    EXPECT_EQ(&RunContext::current(), &a);
    std::thread([&] { EXPECT_EQ(&RunContext::current(), &process); }).join();
  }
  EXPECT_EQ(&RunContext::current(), &process);
}

struct Two final : Communicator {
  int rank() const override { return 1; }
  int world() const override { return 2; }
  uint32_t any(uint32_t bits) override { return bits; }
};

TEST(RunContext, TheCommunicatorSaysWhichRankItIs) {
  Two ranks;
  const RunContext context({.communicator = &ranks});
  EXPECT_EQ(context.rank, 1);
  EXPECT_EQ(context.world, 2);
}

TEST(RunContext, MistakesAreNamed) {
  EXPECT_EQ(rule_of([] { RunContext({.threads = -1}); }), "context.threads");
  EXPECT_EQ(rule_of([] { RunContext({.threads = 1025}); }), "context.threads");
  EXPECT_EQ(rule_of([] { RunContext({.rank = 2, .world = 2}); }), "context.rank");
  EXPECT_EQ(rule_of([] { RunContext({.rank = -1}); }), "context.rank");
}

TEST(RunContext, PartsAreMadeOnceAContext) {
  struct Count {
    int value = 0;
  };
  const RunContext a, b;
  ++a.part<Count>().value;
  ++a.part<Count>().value;
  EXPECT_EQ(a.part<Count>().value, 2);
  EXPECT_EQ(b.part<Count>().value, 0);
  struct Seed {
    uint64_t value;
  };
  const RunContext seeded({.seed = 7});
  EXPECT_EQ(
      seeded.part<Seed>([](const RunContext& context) { return std::make_shared<Seed>(Seed{context.seed}); })
          .value,
      7u);
}

}  // namespace
}  // namespace espalier
