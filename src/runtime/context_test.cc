// Whatever a run computes, it computes with its context's threads and tells its context's events.
#include <functional>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "base/until_helped_test.h"
#include "espalier/control.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "interp/interpreter.h"
#include "ir/trip_test.h"
#include "runtime/executable.h"
#include "runtime/profile.h"

namespace espalier {
namespace {

struct Work {
  const char* name;
  std::function<Tensor(const Tensor&)> of;  // f32[32,32,32]
};

std::vector<Work> works() {
  const auto flat = [](const Tensor& x) { return reshape(x, {128, 256}); };
  const auto images = [](const Tensor& x) { return reshape(x, {2, 32, 32, 16}); };
  return {
      {"dot_general",
       [=](const Tensor& x) {
         return dot(flat(x), transpose(flat(x), {1, 0}));
       }},
      {"dot_general of bf16",
       [=](const Tensor& x) {
         const Tensor half = convert(flat(x), DType::kBF16);
         return dot(half, transpose(half, {1, 0}));
       }},
      {"sums of f16", [=](const Tensor& x) { return reduce_sum(convert(flat(x), DType::kF16), {1}); }},
      {"sums of rows", [=](const Tensor& x) { return reduce_sum(flat(x), {1}); }},
      {"sums of columns", [=](const Tensor& x) { return reduce_sum(flat(x), {0}); }},
      {"largest of columns", [=](const Tensor& x) { return reduce_max(flat(x), {0}); }},
      {"argmax", [=](const Tensor& x) { return argmax(flat(x), 1); }},
      {"softmax", [=](const Tensor& x) { return softmax(flat(x), 1); }},
      {"max_pool",
       [=](const Tensor& x) {
         return max_pool(images(x), {.window = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}});
       }},
      {"elementwise", [](const Tensor& x) { return exponential(x) * x + 1; }},
      {"adam",
       [](const Tensor& x) {
         return adam(x, x, x * x, x, Tensor::scalar(1e-3f), Tensor::scalar(int64_t{1}), 1.0,
                     Tensor::scalar(true))[0];
       }},
      {"a region",
       [](const Tensor& x) {
         return fori_loop(
             0, 2, [](const Tensor&, const Tensor& y) { return exponential(-y); }, x);
       }},
  };
}

class Contexts : public testing::Test {
 protected:
  const SmallestChunks smallest_;
  const Tensor x_ = Generator(1).uniform({32, 32, 32});
};

TEST_F(Contexts, KernelsHaveItsThreads) {
  const RunContext context({.threads = 2});
  for (const Work& work : works()) {
    SCOPED_TRACE(work.name);
    GraphBuilder builder;
    {
      const SinkScope scope(builder);
      builder.result("y", work.of(builder.argument("x", x_.type())));
    }
    const auto plan = compile(builder.finish());
    const std::vector<Literal> inputs{x_.node()->literal()},
        wanted = run(*plan, inputs, RunContext::current());
    const uint64_t of_process = thread_pool().helped();
    until_helped(context.pool, [&] { EXPECT_EQ(run(*plan, inputs, context), wanted); });
    const RunScope scope(context);
    until_helped(context.pool, [&] { work.of(x_); });
    EXPECT_EQ(thread_pool().helped(), of_process) << "the threads of the process";
  }
}

// Reference bodies in plans, in their regions, in the interpreter and in eager calls.
TEST_F(Contexts, BodiesSeeIt) {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", x_.type());
    builder.result("y", fori_loop(
                            0, 2, [](const Tensor&, const Tensor& y) { return trip(y, 0); }, x));
  }
  const auto graph = builder.finish();
  const std::vector<Literal> inputs{x_.node()->literal()};
  const RunContext context({.threads = 1});
  const auto seen = [] { return std::exchange(Trips::context, nullptr); };
  run(*compile(graph), inputs, context);
  EXPECT_EQ(seen(), &context);
  interpret(*graph, inputs, context);
  EXPECT_EQ(seen(), &context);
  trip(x_, 0);
  EXPECT_EQ(seen(), &RunContext::current());
  const RunScope scope(context);
  trip(x_, 0);
  EXPECT_EQ(seen(), &context);
  run(*compile(graph), inputs, RunContext::current());
  EXPECT_EQ(seen(), &context);
}

TEST_F(Contexts, EventsAreTold) {
  struct Told final : RunEvents {
    void on_step(const StepEvent& event) override {
      EXPECT_EQ(event.step, ops.size());
      EXPECT_LE(event.begin, event.end);
      EXPECT_EQ(event.graph, "told");
      ops.push_back(std::string(event.op));
      steps = event.steps;
    }
    std::vector<std::string> ops;
    size_t steps = 0;
  } told;
  GraphBuilder builder("told");
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", x_.type());
    builder.result("y",
                   reduce_sum(fori_loop(
                                  0, 2, [](const Tensor&, const Tensor& y) { return exponential(y); }, x),
                              {0, 1, 2}));
    builder.result("x", x);
  }
  const auto plan = compile(builder.finish());
  const std::vector<Literal> inputs{x_.node()->literal()};
  run(*plan, inputs, RunContext({.events = &told}));
  EXPECT_EQ(told.ops.size(), told.steps) << "a region's steps are its owner's";
  ASSERT_EQ(told.steps, plan->step_count());
  EXPECT_EQ(told.ops.back(), "copy");
  // A profile is such events, too.
  Profiler of_thread;
  run(*plan, inputs, RunContext::current());
  EXPECT_EQ(of_thread.steps().size(), plan->step_count());
}

}  // namespace
}  // namespace espalier
