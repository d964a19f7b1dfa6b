// Exported programs give the same values elsewhere: here by our own reader, and in the runtimes that they are
// for. The latter are skipped, by name, without the Python packages; ESPALIER_ORT_PYTHON names an interpreter
// with onnx and onnxruntime, ESPALIER_JAX_PYTHON one with jax.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "format/npy.h"
#include "format/onnx.h"
#include "format/stablehlo.h"
#include "forward_passes.h"
#include "interp/interpreter.h"

namespace espalier {
namespace {

constexpr int64_t kBatches[] = {1, 7, 64};

std::string python_with(const char* variable, const std::string& modules) {
  const char* named = std::getenv(variable);
  const std::string python = named ? named : "python3";
  return std::system(cat(python, " -c 'import ", modules, "' > /dev/null 2>&1").c_str()) == 0 ? python : "";
}

std::filesystem::path fresh_folder(const std::string& name) {
  const char* build = std::getenv("ESPALIER_BUILD_DIR");
  const auto folder = std::filesystem::path(build ? build : "build") / "tests" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string model_of(const ForwardPass& pass) {
  const auto other = pass.graph(3);
  return onnx_bytes(*pass.graph(2), pass.variables, {.other_batch = other.get()});
}

void write_arrays(const std::filesystem::path& folder, const std::string& stem,
                  const std::vector<Literal>& arrays) {
  for (size_t i = 0; i < arrays.size(); ++i)
    write_npy((folder / cat(stem, i, ".npy")).string(), arrays[i].expanded());
}

TEST(ExportsSlow, OnnxruntimeGivesTheSameValues) {
  const std::string python = python_with("ESPALIER_ORT_PYTHON", "onnx, onnxruntime");
  if (python.empty()) GTEST_SKIP() << "no python3 with onnx and onnxruntime";
  const auto folder = fresh_folder("ort_runs");
  for (const ForwardPass& pass : forward_passes()) {
    posix_env().write_file((folder / (pass.name + ".onnx")).string(), model_of(pass));
    for (const int64_t batch : kBatches) {
      write_arrays(folder, cat(pass.name, ".", batch, ".in"), pass.arguments(batch));
      write_arrays(folder, cat(pass.name, ".", batch, ".out"),
                   interpret(*pass.graph(batch), pass.inputs(batch)));
    }
  }
  EXPECT_EQ(std::system(cat(python, " tests/peers/ort_runs.py ", folder.string()).c_str()), 0);
}

TEST(ExportsSlow, JaxGivesTheSameValues) {
  const std::string python = python_with("ESPALIER_JAX_PYTHON", "jax");
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  const auto folder = fresh_folder("stablehlo_runs");
  constexpr int64_t kBatch = 7;
  for (const ForwardPass& pass : forward_passes()) {
    const auto graph = pass.graph(kBatch);
    const auto outputs = interpret(*graph, pass.inputs(kBatch));
    const auto bound = bind_variables(*graph, pass.variables);
    std::ofstream(folder / (pass.name + "_arguments.mlir")) << stablehlo_text(*graph);
    write_arrays(folder, pass.name + "_arguments.in", pass.inputs(kBatch));
    write_arrays(folder, pass.name + "_arguments.out", outputs);
    std::ofstream(folder / (pass.name + "_constants.mlir")) << stablehlo_text(*bound);
    write_arrays(folder, pass.name + "_constants.in", pass.arguments(kBatch));
    write_arrays(folder, pass.name + "_constants.out", outputs);
  }
  EXPECT_EQ(std::system(cat(python, " tests/peers/jax_runs.py ", folder.string()).c_str()), 0);
}

}  // namespace
}  // namespace espalier
