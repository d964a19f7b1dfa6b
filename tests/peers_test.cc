// What needs JAX: our programs run there, theirs run here. Skipped, by name, where no python3 has jax;
// another interpreter can be named in ESPALIER_JAX_PYTHON.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "format/npy.h"
#include "interp/interpreter.h"
#include "passes/inline_composites.h"
#include "text/text.h"
#include "train_steps.h"

namespace espalier {
namespace {

std::string jax_python() {
  const char* named = std::getenv("ESPALIER_JAX_PYTHON");
  const std::string python = named ? named : "python3";
  return std::system(cat(python, " -c 'import jax' > /dev/null 2>&1").c_str()) == 0 ? python : "";
}

std::filesystem::path fresh_folder(const std::string& name) {
  const char* build = std::getenv("ESPALIER_BUILD_DIR");
  const auto folder = std::filesystem::path(build ? build : "build") / "tests" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(PeersSlow, JaxTrainingStepsRunHere) {
  const std::string python = jax_python();
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  const char* build = std::getenv("ESPALIER_BUILD_DIR");
  const std::string command = cat(build ? build : "build/release", "/espalier");
  for (const char* flag : {"", "--reference"}) {
    const auto folder = fresh_folder("jax_steps");
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
    const auto folder = fresh_folder(cat("jax_runs/", step.name));
    std::ofstream(folder / (step.name + ".mlir")) << print_program(*inline_composites(*step.graph));
    for (size_t i = 0; i < step.inputs.size(); ++i)
      write_npy((folder / cat(step.name, ".in", i, ".npy")).string(), step.inputs[i]);
    const auto outputs = interpret(*step.graph, step.inputs);
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
