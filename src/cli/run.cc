// espalier run: a StableHLO program on arrays.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/files.h"
#include "cli/verbs.h"
#include "format/npy.h"
#include "interp/interpreter.h"
#include "ir/dispatch.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

struct Options {
  std::string program, outputs;
  std::vector<std::string> inputs;
  bool reference = false;
};

constexpr int64_t kShown = 8;

// A file has no bf16: f32 rounds to it.
Literal as_type(const Literal& given, const TensorType& wanted) {
  if (wanted.dtype != DType::kBF16 || given.type() != TensorType{DType::kF32, wanted.shape}) return given;
  Buffer buffer = allocate_buffer(wanted.bytes());
  auto* out = reinterpret_cast<BFloat16*>(buffer.get());
  for (int64_t i = 0; i < wanted.elements(); ++i) out[i] = BFloat16(given.view().as<float>()[i]);
  return Literal(wanted, std::move(buffer));
}

void show(size_t i, const std::string& name, const Literal& value) {
  std::printf("out%zu %s %s:", i, name.c_str(), to_string(value.type()).c_str());
  const Literal dense = value.expanded();
  const int64_t count = std::min(kShown, dense.type().elements());
  for (int64_t k = 0; k < count; ++k) {
    visit_dtype(dense.type().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T element = dense.view().as<T>()[k];
      if constexpr (is_floating<T>) {
        std::printf(" %.9g", static_cast<double>(element));
      } else {
        std::printf(" %s", std::to_string(element).c_str());
      }
    });
  }
  std::puts(count < dense.type().elements() ? " ..." : "");
}

void run(const Options& options) {
  const std::string source = read_text(options.program);
  const auto graph = parse_program(source, std::filesystem::path(options.program).filename().string());
  std::vector<Literal> inputs;
  if (options.inputs.size() != graph->inputs().size())
    throw ValueError("run.inputs", cat(options.program, " takes ", graph->inputs().size(), " inputs, got ",
                                       options.inputs.size(), " files"));
  for (size_t i = 0; i < options.inputs.size(); ++i)
    inputs.push_back(as_type(read_npy(options.inputs[i]), graph->type(graph->inputs()[i].value)));
  const std::vector<Literal> outputs =
      options.reference ? interpret(*graph, inputs) : espalier::run(*compile(optimize(graph)), inputs);
  if (!options.outputs.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.outputs, error);
    if (error) throw IoError("run.outputs", cat("cannot create ", options.outputs, ": ", error.message()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (options.outputs.empty()) {
      show(i, graph->outputs()[i].name, outputs[i]);
    } else {
      write_npy(cat(options.outputs, "/out", i, ".npy"), outputs[i]);
    }
  }
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || std::filesystem::is_directory(path)) throw IoError("file.open", cat("cannot read ", path));
  std::string text(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw IoError("file.read", cat("cannot read ", path));
  return text;
}

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("run", "Run a StableHLO program");
  verb->add_option("program", options->program, "Text of a module")->required();
  verb->add_option("--inputs", options->inputs, "One .npy file an argument of @main");
  verb->add_option("--outputs", options->outputs,
                   "Folder for out0.npy, out1.npy, ... (default: print the values)");
  verb->add_flag("--reference", options->reference, "Run the reference interpreter");
  verb->callback([options] { run(*options); });
}

}  // namespace espalier::cli
