// A run whose step fails has written nothing.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/control.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "interp/interpreter.h"
#include "ir/trip_test.h"
#include "passes/pass.h"
#include "runtime/donated_arrays_test.h"
#include "runtime/executable.h"
#include "runtime/plan.h"
#include "runtime/profile.h"
#include "tests/random_graph.h"

namespace espalier {
namespace {

const TensorType kRow{DType::kF32, {8}};

// Two variables, each updated in place where nothing forbids it, and results around a call that may fail.
std::shared_ptr<Graph> fenced() {
  GraphBuilder builder("fenced");
  const SinkScope scope(builder);
  const Tensor x = builder.argument("x", kRow), a = builder.input(InputKind::kVariable, "a", kRow),
               b = builder.input(InputKind::kVariable, "b", kRow);
  const Tensor early = a + x, tripped = trip(early * 2, 0);
  builder.output(OutputKind::kUpdate, "a", early);
  builder.output(OutputKind::kUpdate, "b", b + 1);  // needs nothing that may fail
  builder.result("tripped", tripped + b);
  builder.result("x", x);
  return builder.finish();
}

class Fences : public testing::Test {
 protected:
  ~Fences() override { Trips::disarm(); }
};

TEST_F(Fences, ARunThatFailsHasWrittenNothing) {
  const auto graph = fenced();
  const auto plan = compile_donating(graph, {.check = true});
  DonatedArrays arrays(*graph, values_for(*graph)), untouched(*graph, values_for(*graph));
  const std::string before = arrays.bytes();
  Trips::arm(0, 1);
  run(*plan, arrays.in, arrays.out, RunContext::current());
  const std::string once = arrays.bytes();
  EXPECT_NE(once, before);
  EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed")
      << "its second run";
  EXPECT_EQ(arrays.bytes(), once);
  Trips::disarm();
  // And the next one is as if nothing had been.
  run(*plan, arrays.in, arrays.out, RunContext::current());
  run(*plan, untouched.in, untouched.out, RunContext::current());
  run(*plan, untouched.in, untouched.out, RunContext::current());
  EXPECT_EQ(arrays.bytes(), untouched.bytes());
}

TEST_F(Fences, TheErrorNamesOpPlaceAndStep) {
  GraphBuilder builder("ring");
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", kRow);
    const NameScope path("encoder");
    const CallScope at({"net.cc", 12});
    builder.result("y", trip(exponential(x), 0));
  }
  const auto plan = compile_donating(builder.finish());
  Trips::arm(0);
  try {
    run(*plan, std::vector<Literal>{Literal::splat(kRow, 1.0f)}, RunContext::current());
    FAIL() << "it did not fail";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "RunError[run.failed] at net.cc:12, encoder\n"
                 "  trip at net.cc:12 in step 2 of 3 of \"ring\" failed: a test wants it so");
  }
}

TEST_F(Fences, APlanWithoutOnesIsAsBefore) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomGraph random(seed);
    const auto plan = compile_donating(random.graph);
    EXPECT_TRUE(plan->plan().fences.empty());
  }
}

// What is updated behind the last one needs no copy.
TEST_F(Fences, WhatFollowsThemIsWrittenInPlace) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor a = builder.input(InputKind::kVariable, "a", {DType::kF32, {1000}}),
                 b = builder.input(InputKind::kVariable, "b", {DType::kF32, {1000}});
    builder.output(OutputKind::kUpdate, "b", b * 3);
    builder.output(OutputKind::kUpdate, "a", a - trip(a * 2, 0));
  }
  const auto plan = compile_donating(builder.finish(), {.check = true});
  EXPECT_EQ(plan->step_count(), 4u) << "no copies";
}

TEST_F(Fences, BitsAreThoseWithoutThem) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph random(seed);
    const std::vector<Literal> wanted = run(*compile(random.graph), random.inputs, RunContext::current());
    for (ValueId value = 0; value < random.graph->value_count(); value += 5) {
      if (random.graph->producer(value) == kNone) continue;
      const auto graph = with_trip(*random.graph, value, 0);
      EXPECT_EQ(run(*compile(graph, {.check = true}), random.inputs, RunContext::current()), wanted)
          << "seed " << seed << ", " << value;
      EXPECT_EQ(run(*compile(optimize(graph)), random.inputs, RunContext::current()), wanted)
          << "seed " << seed << ", " << value;
    }
  }
}

// Behind any value of any graph.
TEST_F(Fences, RandomGraphsThatFailHaveWrittenNothing) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph random(seed);
    for (ValueId value = 0; value < random.graph->value_count(); value += 3) {
      const NodeId producer = random.graph->producer(value);
      if (producer == kNone) continue;
      const auto graph = with_trip(*random.graph, value, 0);
      const auto plan = compile_donating(graph);
      DonatedArrays arrays(*graph, random.inputs);
      const std::string before = arrays.bytes();
      Trips::arm(0);
      if (!plan->plan().fences.empty()) {
        EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed");
        EXPECT_EQ(arrays.bytes(), before) << "seed " << seed << ", value " << value;
        Trips::arm(0);
        EXPECT_EQ(rule_of([&] { interpret(*graph, random.inputs, RunContext::current()); }), "run.failed");
      }
      Trips::disarm();
    }
  }
}

// In a loop, at its third turn; through any executor.
TEST_F(Fences, ARegionsFailureIsTheRuns) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor a = builder.input(InputKind::kVariable, "a", kRow);
    const Tensor next = a + 1;
    builder.output(OutputKind::kUpdate, "a", next);
    builder.result("y", fori_loop(
                            0, 5, [](const Tensor&, const Tensor& y) { return trip(y * 2, 0) + 1; }, next));
  }
  const auto graph = builder.finish();
  const auto plan = compile_donating(graph, {.check = true});
  EXPECT_EQ(plan->plan().fences.size(), 1u);
  DonatedArrays arrays(*graph, values_for(*graph));
  const std::string before = arrays.bytes();
  Trips::arm(0, 2);
  EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed");
  EXPECT_EQ(arrays.bytes(), before);
  Trips::arm(0, 2);
  EXPECT_EQ(rule_of([&] { interpret(*graph, values_for(*graph), RunContext::current()); }), "run.failed");
  Trips::arm(0, 2);
  const Tensor x = Generator(1).uniform({8});
  EXPECT_EQ(rule_of([&] {
              fori_loop(
                  0, 5, [](const Tensor&, const Tensor& y) { return trip(y, 0); }, x);
            }),
            "run.failed");
}

TEST_F(Fences, EagerCallsFailToo) {
  const Tensor x = Generator(1).uniform({8});
  Trips::arm(3);
  EXPECT_EQ(rule_of([&] { trip(x, 3); }), "run.failed");
  EXPECT_EQ(trip(x, 3).to_vector<float>(), x.to_vector<float>());
}

TEST_F(Fences, AProfiledRunFailsAtTheSameStep) {
  const auto graph = fenced();
  const auto plan = compile_donating(graph);
  DonatedArrays arrays(*graph, values_for(*graph));
  const std::string before = arrays.bytes();
  Trips::arm(0);
  const Profiler profiler;
  EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed");
  EXPECT_EQ(arrays.bytes(), before);
}

// Its neighbours are fused; whoever shares a tile with it has no place to say that it failed.
TEST_F(Fences, AnElementwiseOneIsAStepOfItsOwn) {
  OpDef op = op_trip;
  op.fusion = Fusion::kElementwise;
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", kRow), y = exponential(x) + 1;
    builder.result("y", emit(op, std::make_shared<TripAttributes>(), {&y, 1}) * 2 + 1);
  }
  const auto plan = compile_donating(builder.finish());
  ASSERT_EQ(plan->step_count(), 3u);
  Trips::arm(0);
  EXPECT_EQ(
      rule_of([&] { run(*plan, std::vector<Literal>{Literal::splat(kRow, 1.0f)}, RunContext::current()); }),
      "run.failed");
}

// Neither merged with its like nor computed ahead.
TEST_F(Fences, PassesLeaveThem) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", kRow);
    builder.result("y", trip(x, 0) + trip(x, 0) + trip(Tensor::scalar(1.0f), 0));
  }
  const auto graph = optimize(builder.finish());
  size_t count = 0;
  for (const Node& node : graph->nodes()) count += node.op == &op_trip;
  EXPECT_EQ(count, 3u);
}

}  // namespace
}  // namespace espalier
