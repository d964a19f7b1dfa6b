// Exported programs give the same values elsewhere: here by our own reader, and in the runtimes that they are
// for. The latter are skipped, by name, without the Python packages; ESPALIER_ORT_PYTHON names an interpreter
// with onnx and onnxruntime, ESPALIER_JAX_PYTHON one with jax.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "format/npy.h"
#include "format/onnx.h"
#include "format/stablehlo.h"
#include "forward_passes.h"
#include "interp/interpreter.h"
#include "passes/bind_variables.h"

namespace espalier {
namespace {

constexpr int64_t kBatches[] = {1, 7, 64};

std::string model_of(const ForwardPass& pass) {
  const auto other = pass.graph(3);
  return onnx_bytes(*pass.graph(2), pass.variables, {.other_batch = other.get()});
}

void write_arrays(const std::filesystem::path& folder, const std::string& stem,
                  const std::vector<Literal>& arrays) {
  for (size_t i = 0; i < arrays.size(); ++i)
    write_npy((folder / cat(stem, i, ".npy")).string(), arrays[i].expanded());
}

// The worst difference, in parts of the largest value.
double difference(const Literal& got, const Literal& wanted) {
  if (got.type() != wanted.type()) return std::numeric_limits<double>::infinity();
  const Literal a = got.expanded(), b = wanted.expanded();
  const size_t size = size_of(a.type().dtype);
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < static_cast<size_t>(a.type().elements()); ++i) {
    const auto element = [&](const Literal& x) {
      return load_scalar(x.type().dtype, static_cast<const std::byte*>(x.raw()) + i * size);
    };
    const double x = element(a), y = element(b);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    worst = std::max(worst, std::isnan(x - y) ? std::numeric_limits<double>::infinity() : std::abs(x - y));
    largest = std::max(largest, std::abs(y));
  }
  return worst / largest;
}

OnnxProgram read_back(const std::string& model, int64_t batch) {
  return parse_onnx(std::as_bytes(std::span(model.data(), model.size())), {.sizes = {{"N", batch}}});
}

TEST(Exports, OnnxModelsReadBackGiveTheSameValues) {
  for (const ForwardPass& pass : forward_passes()) {
    const std::string model = model_of(pass);
    for (const int64_t batch : kBatches) {
      const OnnxProgram program = read_back(model, batch);
      program.graph->verify();
      EXPECT_EQ(program.variables, pass.variables) << pass.name;
      std::vector<Literal> inputs = pass.arguments(batch);
      for (const GraphInput& input : program.graph->inputs()) {
        if (input.kind == InputKind::kVariable) inputs.push_back(program.variables.at(input.name));
      }
      std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
      EXPECT_LT(difference(interpret(*program.graph, inputs, RunContext::current())[0],
                           interpret(*pass.graph(batch), pass.inputs(batch), RunContext::current())[0]),
                1e-5)
          << pass.name << " at the batch size " << batch;
    }
  }
}

TEST(ExportsSlow, OnnxruntimeGivesTheSameValues) {
  const std::string python = python_with("ESPALIER_ORT_PYTHON", "onnx, onnxruntime");
  if (python.empty()) GTEST_SKIP() << "no python3 with onnx and onnxruntime";
  const std::filesystem::path folder = fresh_folder("ort_runs");
  for (const ForwardPass& pass : forward_passes()) {
    posix_env().write_file((folder / (pass.name + ".onnx")).string(), model_of(pass));
    for (const int64_t batch : kBatches) {
      write_arrays(folder, cat(pass.name, ".", batch, ".in"), pass.arguments(batch));
      write_arrays(folder, cat(pass.name, ".", batch, ".out"),
                   interpret(*pass.graph(batch), pass.inputs(batch), RunContext::current()));
    }
  }
  EXPECT_EQ(std::system(cat(python, " tests/peers/ort_runs.py ", folder.string()).c_str()), 0);
}

// ONNX's own cases for single operators. What we do not read is refused as unsupported; what we read, is
// right.
TEST(ExportsSlow, OnnxOperatorsMeanWhatTheirCasesSay) {
  const std::string python = python_with("ESPALIER_ORT_PYTHON", "onnx");
  if (python.empty()) GTEST_SKIP() << "no python3 with onnx";
  const std::filesystem::path folder = fresh_folder("onnx_cases");
  ASSERT_EQ(std::system(cat(python, " tests/peers/onnx_cases.py ", folder.string()).c_str()), 0);
  size_t right = 0, unsupported = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    const std::string stem = file.path().stem().string(), model = posix_env().read_file(file.path().string());
    const auto arrays = [&](const char* kind) {
      std::vector<Literal> out;
      for (;;) {
        const auto path = folder / cat(stem, ".", kind, out.size(), ".npy");
        if (!std::filesystem::exists(path)) return out;
        out.push_back(read_npy(path.string()));
      }
    };
    try {
      const OnnxProgram program = parse_onnx(std::as_bytes(std::span(model.data(), model.size())));
      const auto got = interpret(*program.graph, arrays("in"), RunContext::current()), wanted = arrays("out");
      ASSERT_EQ(got.size(), wanted.size()) << stem;
      for (size_t i = 0; i < got.size(); ++i) EXPECT_LT(difference(got[i], wanted[i]), 1e-3) << stem;
      ++right;
    } catch (const UnsupportedError& error) {
      ++unsupported;
      if (std::getenv("ESPALIER_SHOW_UNSUPPORTED")) std::cout << stem << ": " << error.message() << "\n";
    } catch (const Error& error) {
      ADD_FAILURE() << stem << ": " << error.what();
    }
  }
  EXPECT_GT(right, 300u);
  std::cout << right << " cases, " << unsupported << " more are not read\n";
}

TEST(ExportsSlow, JaxGivesTheSameValues) {
  const std::string python = python_with("ESPALIER_JAX_PYTHON", "jax");
  if (python.empty()) GTEST_SKIP() << "no python3 with jax";
  const std::filesystem::path folder = fresh_folder("stablehlo_runs");
  constexpr int64_t kBatch = 7;
  for (const ForwardPass& pass : forward_passes()) {
    const auto graph = pass.graph(kBatch);
    const auto outputs = interpret(*graph, pass.inputs(kBatch), RunContext::current());
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
