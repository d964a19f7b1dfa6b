// espalier run: a StableHLO program on arrays.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "format/npy.h"
#include "interp/interpreter.h"
#include "ir/device.h"
#include "ir/dispatch.h"
#include "passes/pass.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

struct RunOptions {
  std::string program, outputs;
  DevicePlan device;
  Results results;
  std::vector<std::string> inputs;
  bool reference = false;
};

constexpr int64_t kShownElements = 8;

// A file has no bf16: f32 rounds to it.
Literal as_type(const Literal& given, const TensorType& wanted) {
  if (wanted.dtype != DType::kBF16 || given.type() != TensorType{DType::kF32, wanted.shape}) return given;
  Buffer buffer = allocate_buffer(wanted.bytes());
  auto* out = reinterpret_cast<BFloat16*>(buffer.get());
  for (int64_t i = 0; i < wanted.elements(); ++i) out[i] = BFloat16(given.view().as<float>()[i]);
  return Literal(wanted, std::move(buffer));
}

// The first `limit` elements.
template <class F>
void each_element(const Literal& dense, int64_t limit, F f) {
  visit_dtype(dense.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t count = std::min(limit, dense.type().elements());
    for (int64_t k = 0; k < count; ++k) {
      const T element = dense.view().as<T>()[k];
      if constexpr (is_floating<T>) {
        f(static_cast<double>(element));
      } else {
        f(element);
      }
    }
  });
}

std::string line(size_t i, const std::string& name, const Literal& value) {
  std::string out = cat("out", i, " ", name, " ", value.type(), ":");
  each_element(value.expanded(), kShownElements, [&](auto element) {
    if constexpr (std::is_same_v<decltype(element), double>) {
      char text[32];
      std::snprintf(text, sizeof text, " %.9g", element);
      out += std::isnan(element) ? " nan" : text;
    } else if constexpr (std::is_same_v<decltype(element), bool>) {
      out += element ? " true" : " false";
    } else {
      out += " " + std::to_string(element);
    }
  });
  return out + (kShownElements < value.type().elements() ? " ...\n" : "\n");
}

// JSON has no NaN and no infinity: they are the strings "nan", "inf" and "-inf".
nlohmann::ordered_json record(const std::string& name, const Literal& value) {
  nlohmann::ordered_json elements = nlohmann::ordered_json::array();
  each_element(value.expanded(), value.type().elements(), [&](auto element) {
    if constexpr (std::is_same_v<decltype(element), double>) {
      if (std::isfinite(element)) {
        elements.push_back(element);
      } else {
        elements.push_back(std::isnan(element) ? "nan" : element > 0 ? "inf" : "-inf");
      }
    } else {
      elements.push_back(element);
    }
  });
  return {{"name", name}, {"type", to_string(value.type())}, {"values", std::move(elements)}};
}

std::vector<Literal> run_on_device(const RunOptions& options, const Graph& graph,
                                   const std::vector<Literal>& inputs) {
  const OnDevice scope(options.device);
  const RunContext& context = RunContext::current();
  Device* const device = context.device;
  const auto program = device->compile(graph);
  std::vector<RemoteArrayPtr> arguments;
  for (const Literal& input : inputs) arguments.push_back(device->upload(input));
  std::vector<Literal> outputs;
  for (const RemoteArrayPtr& result : program->run(arguments, {}, context))
    outputs.push_back(result->download());
  return outputs;
}

std::vector<Literal> outputs_where_asked(const RunOptions& options, const std::shared_ptr<const Graph>& graph,
                                         const std::vector<Literal>& inputs) {
  if (options.reference) return interpret(*graph, inputs, RunContext::current());
  if (!options.device.is_cpu()) return run_on_device(options, *graph, inputs);
  return espalier::run(*compile(optimize(graph)), inputs, RunContext::current());
}

void run(const RunOptions& options) {
  const auto graph = read_program(options.program);
  std::vector<Literal> inputs;
  if (options.inputs.size() != graph->inputs().size())
    throw ValueError("run.inputs",
                     cat(options.program, " takes ", counted(graph->inputs().size(), "input"), ", got ",
                         counted(options.inputs.size(), "file")),
                     options.inputs.empty() ? "--inputs x.npy ..." : "");
  for (size_t i = 0; i < options.inputs.size(); ++i)
    inputs.push_back(as_type(read_npy(options.inputs[i]), graph->type(graph->inputs()[i].value)));
  const std::vector<Literal> outputs = outputs_where_asked(options, graph, inputs);
  if (!options.outputs.empty()) {
    posix_env().make_folder(options.outputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      write_npy(cat(options.outputs, "/out", i, ".npy"), outputs[i]);
    std::fputs(cat("wrote ", counted(outputs.size(), "file"), ", out0.npy and on, to ", options.outputs, "\n")
                   .c_str(),
               stderr);
    return options.results.suggest({"graph", options.program});
  }
  if (options.results.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < outputs.size(); ++i) list.push_back(record(graph->outputs()[i].name, outputs[i]));
    return options.results.write_json("run", {{"outputs", std::move(list)}});
  }
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) text += line(i, graph->outputs()[i].name, outputs[i]);
  options.results.write(text);
  options.results.suggest({"graph", options.program});
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a StableHLO program");
  verb->add_option("program", options->program, "StableHLO module in generic form (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("--inputs", options->inputs, "One .npy file per argument of @main, in their order")
      ->option_text("FILE ...");
  CLI::Option* folder =
      verb->add_option("--outputs", options->outputs,
                       "Folder for the outputs out0.npy, out1.npy, ... (default: print the values; not with "
                       "--json or --out)")
          ->option_text("FOLDER")
          ->check(a_name());
  CLI::Option* reference =
      verb->add_flag("--reference", options->reference,
                     "Run with the built-in reference interpreter, on the CPU (not with --device)");
  add_device(*verb, options->device)->excludes(reference);
  options->results.add_json(*verb);
  options->results.add_out(*verb);
  folder->excludes("--json")->excludes("--out");
  add_threads(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier run program.mlir --inputs x.npy y.npy\n"
      "  espalier run program.mlir --inputs x.npy --device gpu --outputs results\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] { run(*options); });
}

}  // namespace espalier::cli
