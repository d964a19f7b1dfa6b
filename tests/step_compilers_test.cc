// Whole training steps through the compilers of an H100 and a TPU v5e, which are not there. What it takes on
// a device is what its compiler says.
#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/format.h"
#include "pjrt/compiler_test.h"
#include "train_steps.h"

namespace espalier {
namespace {

// Each variable's new value, to take the memory of the old one.
std::vector<Alias> updates_of(const Graph& graph) {
  std::vector<Alias> out;
  for (size_t output = 0; output < graph.outputs().size(); ++output) {
    if (graph.outputs()[output].kind != OutputKind::kUpdate) continue;
    for (size_t input = 0; input < graph.inputs().size(); ++input)
      if (graph.inputs()[input].kind == InputKind::kVariable &&
          graph.inputs()[input].name == graph.outputs()[output].name)
        out.push_back({input, output});
  }
  return out;
}

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
      results[i].compiled = compiler.compile(*steps[i].graph, updates_of(*steps[i].graph));
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
    for (const Alias& alias : updates_of(graph))
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
