// What needs JAX: our programs run there, theirs run here. Skipped, by name, where no python3 has jax;
// another interpreter can be named in ESPALIER_JAX_PYTHON.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"
#include "format/npy.h"
#include "interp/interpreter.h"
#include "passes/inline_composites.h"
#include "text/text.h"
#include "train_steps.h"

namespace espalier {
namespace {

std::string jax_python() { return python_with("ESPALIER_JAX_PYTHON", "jax"); }

TEST(PeersSlow, JaxTrainingStepsRunHere) {
  const std::string python = jax_python();
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  const std::string command = build_folder() + "/espalier";
  for (const char* flag : {"", "--reference"}) {
    const std::filesystem::path folder = fresh_folder("jax_steps");
    EXPECT_EQ(
        std::system(
            cat(python, " tests/peers/jax_steps.py ", command, " ", folder.string(), " ", flag).c_str()),
        0)
        << flag;
  }
}

TEST(PeersSlow, OurTrainingStepsRunInJax) {
  const std::string python = jax_python();
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  for (const StepProgram& step : train_steps()) {
    const std::filesystem::path folder = fresh_folder(cat("jax_runs/", step.name));
    std::ofstream(folder / (step.name + ".mlir")) << print_program(*inline_composites(*step.graph));
    for (size_t i = 0; i < step.inputs.size(); ++i)
      write_npy((folder / cat(step.name, ".in", i, ".npy")).string(), step.inputs[i]);
    const auto outputs = interpret(*step.graph, step.inputs, RunContext::current());
    for (size_t i = 0; i < outputs.size(); ++i)
      write_npy((folder / cat(step.name, ".out", i, ".npy")).string(), outputs[i].expanded());
    EXPECT_EQ(
        std::system(cat(python, " tests/peers/jax_runs.py ", folder.string(), " ", step.tolerance).c_str()),
        0)
        << step.name;
  }
}

}  // namespace
}  // namespace espalier
