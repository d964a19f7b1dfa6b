#include "runtime/profile.h"

#include <gtest/gtest.h>

#include "espalier/control.h"
#include "espalier/ops.h"
#include "ir/builder.h"

namespace espalier {
namespace {

// dot, then a fused chain that ends in a result.
std::shared_ptr<const Executable> dot_and_chain() {
  GraphBuilder builder("profiled");
  SinkScope scope(builder);
  const Tensor a = builder.argument("a", {DType::kF32, {4, 8}}),
               b = builder.argument("b", {DType::kF32, {8, 2}});
  builder.result("y", maximum(dot(a, b) + 1.0, 0.0));
  return compile(builder.finish());
}

std::vector<Literal> inputs() {
  return {Literal::splat({DType::kF32, {4, 8}}, 1.0), Literal::splat({DType::kF32, {8, 2}}, 1.0)};
}

TEST(Profiler, CountsRunsFlopsAndBytesOfEveryStep) {
  const auto plan = dot_and_chain();
  std::vector<StepProfile> steps;
  {
    const Profiler profiler;
    for (int i = 0; i < 3; ++i) run(*plan, inputs(), RunContext::current());
    steps = profiler.steps();
  }
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].what, "dot_general, add, maximum f32[4,2]");
  EXPECT_EQ(steps[0].flops, 2 * 4 * 8 * 2 + 2 * 4 * 2);
  // The operands in, the product out; the product in, the result out; two constants.
  EXPECT_EQ(steps[0].bytes, 4 * (4 * 8 + 8 * 2 + 4 * 2) + 4 * (2 * 4 * 2 + 2));
  for (const StepProfile& step : steps) {
    EXPECT_EQ(step.runs, 3) << step.what;
    EXPECT_GT(step.seconds, 0) << step.what;
    EXPECT_EQ(step.reference_ops, 0) << step.what;
  }
}

TEST(Profiler, SeesOnlyWhatRunsWhileItLives) {
  const auto plan = dot_and_chain();
  run(*plan, inputs(), RunContext::current());
  {
    const Profiler outer;
    run(*plan, inputs(), RunContext::current());
    {
      const Profiler inner;
      run(*plan, inputs(), RunContext::current());
      EXPECT_EQ(inner.steps()[0].runs, 1);
    }
    run(*plan, inputs(), RunContext::current());
    EXPECT_EQ(outer.steps()[0].runs, 2);
  }
  EXPECT_EQ(Profiler::current(), nullptr);
}

TEST(Profiler, TellsApartTwoPlansOfOneGraph) {
  GraphBuilder builder("chain");
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {8}});
    builder.result("y", maximum((x + x) * x, x));
  }
  const std::shared_ptr<const Graph> graph = builder.finish();
  const auto fused = compile(graph), single = compile(graph, {.fuse = false});
  const std::vector<Literal> inputs{Literal::splat({DType::kF32, {8}}, 1.0)};
  const Profiler profiler;
  run(*fused, inputs, RunContext::current());
  for (int i = 0; i < 2; ++i) run(*single, inputs, RunContext::current());
  const std::vector<StepProfile> steps = profiler.steps();
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].runs, 1);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(steps[i].runs, 2) << steps[i].what;
}

TEST(Profiler, WhatARegionRunsCountsForItsOwner) {
  GraphBuilder builder("branches");
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {2}});
    const Tensor p = builder.argument("p", {DType::kBool, {}});
    builder.result("y", cond(
                            p, [&] { return x + x; }, [&] { return x * x; }));
  }
  const auto plan = compile(builder.finish());
  const Profiler profiler;
  run(*plan, std::vector<Literal>{Literal::of({1.0f, 2.0f}), Literal::splat({DType::kBool, {}}, int64_t{1})},
      RunContext::current());
  const std::vector<StepProfile> steps = profiler.steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].what, "if f32[2]");
  EXPECT_EQ(steps[0].reference_ops, 1);
}

}  // namespace
}  // namespace espalier
