// Whole training steps: executor against interpreter, every choice of passes and threads, text there and
// back.
#include "train_steps.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/thread_pool.h"
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
    const auto expected = interpret(*step.graph, step.inputs);
    const auto got = run(*compile(optimize(step.graph, {.verify = true}), {.check = true}), step.inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LT(distance(got[i], expected[i]), 2e-5) << step.name << " " << step.graph->outputs()[i].name;
    }
  }
}

TEST(TrainSteps, ThreadsDoNotChangeABit) {
  for (const StepProgram& step : train_steps()) {
    const auto plan = compile(optimize(step.graph));
    std::vector<Literal> first;
    for (const int threads : {1, 2, 3}) {
      thread_pool().set_threads(threads);
      const auto out = run(*plan, step.inputs);
      if (first.empty()) first = out;
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_TRUE(out[i] == first[i]) << step.name << ", " << threads << " threads, output " << i;
    }
    thread_pool().set_threads(default_threads());
  }
}

TEST(TrainSteps, EveryChoiceOfPassesGivesTheSameBitsInTheInterpreter) {
  for (const StepProgram& step : train_steps()) {
    const auto expected = interpret(*step.graph, step.inputs);
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
      const auto out = interpret(*optimize(step.graph, {.off = off, .verify = true}), step.inputs);
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
    const auto expected = interpret(*step.graph, step.inputs), got = interpret(*parsed, step.inputs);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == expected[i]) << step.name << ", output " << i;
  }
}

}  // namespace
}  // namespace espalier
