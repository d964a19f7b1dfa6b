// Runs in two parts, around the collective that each waits for.
#include <array>
#include <barrier>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

// 2 * the sum over ranks of (x + 1).
std::shared_ptr<const Executable> doubled_sum() {
  GraphBuilder builder;
  const SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {3}});
  builder.result("y", all_reduce({x + 1})[0] * 2);
  return compile(builder.finish());
}

template <class Body>
void on_two_ranks(Body body) {
  const auto ranks = local_communicators(2);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const RunContext context({.threads = 1, .communicator = ranks[i].get()});
      body(static_cast<float>(i), context);
    });
  }
}

// Neither rank waits in the first parts: the second rank begins when the first has.
TEST(BegunRuns, SeveralAreUnderWayAtOnce) {
  const auto first = doubled_sum(), second = doubled_sum();
  std::promise<void> has_begun;
  std::shared_future<void> waits = has_begun.get_future().share();
  on_two_ranks([&](float rank, const RunContext& context) {
    if (rank == 1) waits.wait();
    for (int turn = 0; turn < 3; ++turn) {
      const Literal a = Literal::of<float>({rank, 1, 2}), b = Literal::of<float>({10, 20, rank});
      BegunRun one(*first, {&a, 1}, context), two(*second, {&b, 1}, context);
      if (rank == 0 && turn == 0) has_begun.set_value();
      EXPECT_EQ(one.end()[0], Literal::of<float>({6, 8, 12}));
      EXPECT_EQ(two.end()[0], Literal::of<float>({44, 84, 6}));
    }
  });
}

TEST(BegunRuns, OneThatDoesNotEndLeavesOthersWhole) {
  const auto sum = doubled_sum();
  on_two_ranks([&](float rank, const RunContext& context) {
    const Literal x = Literal::of<float>({rank, 1, 2});
    { const BegunRun begun(*sum, {&x, 1}, context); }
    BegunRun begun(*sum, {&x, 1}, context);
    EXPECT_EQ(begun.end()[0], Literal::of<float>({6, 8, 12}));
  });
}

TEST(BegunRuns, OfAGraphThatMeetsNobodyAreWholeRuns) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    builder.result("y", builder.argument("x", {DType::kF32, {2}}) * 3);
  }
  const auto tripled = compile(builder.finish());
  const Literal x = Literal::of<float>({1, -2});
  const RunContext context({.threads = 1});
  BegunRun run(*tripled, {&x, 1}, context);
  EXPECT_EQ(run.end()[0], Literal::of<float>({3, -6}));
  const Literal other = Literal::of<float>({1, 2, 3});
  EXPECT_THROW(BegunRun(*tripled, {&other, 1}, context), ShapeError);
}

}  // namespace
}  // namespace espalier
