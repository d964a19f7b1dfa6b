// Whole training steps: executor against interpreter, every choice of passes and threads, text there and
// back.
#include "train_steps.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/thread_pool.h"
#include "base/until_helped_test.h"
#include "interp/interpreter.h"
#include "ir/dispatch.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier {
namespace {

// The largest difference, relative to the largest expected value.
double distance(const Literal& got, const Literal& expected) {
  const Literal a = got.expanded(), b = expected.expanded();
  if (a.type() != b.type()) return INFINITY;
  double worst = 0, largest = 1e-30;
  const size_t size = size_of(a.type().dtype);
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    const double x = load_scalar(a.type().dtype, a.buffer().get() + static_cast<size_t>(i) * size);
    const double y = load_scalar(b.type().dtype, b.buffer().get() + static_cast<size_t>(i) * size);
    if (std::isnan(x) != std::isnan(y)) return INFINITY;
    if (!std::isnan(x)) worst = std::max(worst, std::abs(x - y));
    if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
  }
  return worst / largest;
}

TEST(TrainSteps, TheExecutorFollowsTheInterpreter) {
  for (const StepProgram& step : train_steps()) {
    const auto expected = interpret(*step.graph, step.inputs, RunContext::current());
    const auto got = run(*compile(optimize(step.graph, {.verify = true}), {.check = true}), step.inputs,
                         RunContext::current());
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LT(distance(got[i], expected[i]), step.tolerance)
          << step.name << " " << step.graph->outputs()[i].name;
    }
  }
}

// The outputs of 1, 2 and 3 threads are those of one thread in the usual chunks; runs go on until a helper
// has done a part of the work, where there is work to share.
void expect_same_bits_on_threads(const StepProgram& step, bool smallest_chunks, bool shared) {
  const int before = thread_pool().threads();
  thread_pool().set_threads(1);
  const auto expected = run(*compile(optimize(step.graph)), step.inputs, RunContext::current());
  const SmallestChunks chunks(smallest_chunks);
  const auto plan = compile(optimize(step.graph));
  for (const int threads : {1, 2, 3}) {
    thread_pool().set_threads(threads);
    const auto once = [&] {
      const auto out = run(*plan, step.inputs, RunContext::current());
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_TRUE(out[i] == expected[i]) << step.name << ", " << threads << " threads, output " << i;
    };
    shared&& threads > 1 ? until_helped(once) : once();
  }
  thread_pool().set_threads(before);
}

TEST(TrainSteps, ThreadsDoNotChangeABit) {
  for (const StepProgram& step : train_steps()) {
    expect_same_bits_on_threads(step, false, false);
    expect_same_bits_on_threads(step, true, true);
  }
}

// As large as steps that people take: the usual chunks keep helpers busy.
TEST(TrainSteps, ThreadsDoNotChangeABitOfALargeStep) {
  expect_same_bits_on_threads(large_train_step(), false, true);
  expect_same_bits_on_threads(large_train_step(), true, true);
}

TEST(TrainSteps, EveryChoiceOfPassesGivesTheSameBitsInTheInterpreter) {
  for (const StepProgram& step : train_steps()) {
    const auto expected = interpret(*step.graph, step.inputs, RunContext::current());
    const auto passes = all_passes();
    std::vector<std::vector<std::string>> choices{{}, {}};
    for (const Pass* pass : passes) {
      choices[1].emplace_back(pass->name);  // all off
      choices.push_back({pass->name});      // each alone off
      choices.emplace_back();               // each alone on
      for (const Pass* other : passes) {
        if (other != pass) choices.back().emplace_back(other->name);
      }
    }
    Philox random(7);
    for (int subset = 0; subset < 20; ++subset) {
      choices.emplace_back();
      for (const Pass* pass : passes) {
        if (random.next() & 1) choices.back().emplace_back(pass->name);
      }
    }
    for (const auto& off : choices) {
      const auto out =
          interpret(*optimize(step.graph, {.off = off, .verify = true}), step.inputs, RunContext::current());
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_TRUE(out[i] == expected[i]) << step.name << ", output " << i;
    }
  }
}

TEST(TrainSteps, TextParsesBackToEqualGraphsAndValues) {
  for (const StepProgram& step : train_steps()) {
    const std::string text = print_program(*step.graph);
    const auto parsed = parse_program(text);
    EXPECT_TRUE(*parsed == *step.graph) << step.name;
    EXPECT_EQ(print_program(*parsed), text) << step.name;
    const auto expected = interpret(*step.graph, step.inputs, RunContext::current()),
               got = interpret(*parsed, step.inputs, RunContext::current());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == expected[i]) << step.name << ", output " << i;
  }
}

}  // namespace
}  // namespace espalier
