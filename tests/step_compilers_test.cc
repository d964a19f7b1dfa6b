// Whole training steps through the compilers of an H100 and a TPU v5e, which are not there. What it takes on
// a device is what its compiler says.
#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "pjrt/compiler_test.h"
#include "text/text.h"
#include "train_steps.h"

namespace espalier {
namespace {

void compile_steps(const pjrt::TestCompiler& wanted) {
  const pjrt::Compiler compiler = wanted.open();
  std::vector<StepProgram> steps = train_steps();
  steps.push_back(large_train_step());
  struct Result {
    pjrt::Compiled compiled;
    double seconds = 0;
    std::string problem;
  };
  std::vector<Result> results(steps.size());
  pjrt::on_all_cores(steps.size(), [&](size_t i) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      const std::vector<Alias> updates = updates_in_place(*steps[i].graph);
      results[i].compiled = compiler.compile(*steps[i].graph, {.aliases = updates});
    } catch (const Error& error) {
      results[i].problem = error.what();
    }
    results[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  for (size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(cat(steps[i].name, " for ", wanted.name));
    const Graph& graph = *steps[i].graph;
    const auto& [compiled, seconds, problem] = results[i];
    EXPECT_EQ(problem, "");
    if (!problem.empty()) continue;
    size_t donated = 0, inputs = 0;
    for (const Alias& alias : updates_in_place(graph))
      donated += graph.type(graph.inputs()[alias.input].value).bytes();
    for (const GraphInput& input : graph.inputs()) inputs += graph.type(input.value).bytes();
    EXPECT_GT(donated, 0u);
    EXPECT_GE(static_cast<double>(compiled.aliases), 0.99 * static_cast<double>(donated));
    EXPECT_GE(compiled.arguments, static_cast<int64_t>(inputs));
    EXPECT_GT(compiled.serialized, 0u);
    std::printf("%s, %s: %.1f s, donated %zu bytes, aliases %lld, arguments %lld, temporary %lld, code %zu\n",
                wanted.name, steps[i].name.c_str(), seconds, donated,
                static_cast<long long>(compiled.aliases), static_cast<long long>(compiled.arguments),
                static_cast<long long>(compiled.temporary), compiled.serialized);
  }
}

// A step of four replicas, with statistics of all their rows.
GraphPtr mirrored_step() {
  const strategy::Mirrored four({.devices = 4});
  const auto scope = four.scope();
  set_seed(1);
  Sequential model{Dense({.units = 64, .activation = "relu"}), BatchNormalization({.synchronized = true}),
                   Dropout(0.3), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}});
  const Tensor x = random_normal({32, 20}, 1, 0), y = argmax(random_normal({32, 10}, 2, 0), 1);
  return parse_program(model.step_program(x, y), "step");
}

void compile_for_four(const pjrt::TestCompiler& wanted) {
  const GraphPtr step = mirrored_step();
  const std::string text = print_program(*step);
  EXPECT_NE(text.find("stablehlo.all_reduce"), std::string::npos);
  const std::vector<Alias> updates = updates_in_place(*step);
  ASSERT_GT(updates.size(), 10u);
  const pjrt::Compiled compiled = wanted.open().compile(*step, {.aliases = updates}, 4);
  size_t donated = 0;
  for (const Alias& alias : updates) donated += step->type(step->inputs()[alias.input].value).bytes();
  EXPECT_GE(static_cast<double>(compiled.aliases), 0.99 * static_cast<double>(donated));
  std::printf("%s, four replicas: donated %zu bytes, aliases %lld, in all %lld\n", wanted.name, donated,
              static_cast<long long>(compiled.aliases), static_cast<long long>(compiled.in_all()));
}

TEST(StepCompilers, SlowFourH100sTakeAStepTogether) {
  ESPALIER_NEEDS_COMPILER(pjrt::kFourH100s);
  compile_for_four(pjrt::kFourH100s);
}

TEST(StepCompilers, SlowFourTpusTakeAStepTogether) {
  ESPALIER_NEEDS_COMPILER(pjrt::kTpuV5e);
  for (const pjrt::TestCompiler& tpus : pjrt::kFourTpus) compile_for_four(tpus);
}

TEST(StepCompilers, SlowTheH100sTakesEveryTrainingStep) {
  ESPALIER_NEEDS_COMPILER(pjrt::kH100);
  compile_steps(pjrt::kH100);
}

TEST(StepCompilers, SlowTheTpuV5esTakesEveryTrainingStep) {
  ESPALIER_NEEDS_COMPILER(pjrt::kTpuV5e);
  compile_steps(pjrt::kTpuV5e);
}

}  // namespace
}  // namespace espalier
