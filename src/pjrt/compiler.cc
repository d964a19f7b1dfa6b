#include "pjrt/compiler.h"

#include <cstdlib>

#include "base/format.h"
#include "pjrt/compile_options.h"
#include "pjrt/program_text.h"

namespace espalier::pjrt {
namespace {

std::vector<NamedValue> text_values(const Compiler::Options& options) {
  std::vector<NamedValue> out;
  for (const auto& [name, text] : options) {
    NamedValue& value = out.emplace_back();
    value.head.bytes = sizeof value;
    value.name = name.data();
    value.name_size = name.size();
    value.text = text.data();
    value.size = text.size();
  }
  return out;
}

// Gives a program back, whatever is raised over it.
struct CompiledProgram {
  const Plugin& plugin;
  AbiExecutable* executable;
  ~CompiledProgram() { plugin.destroy(ExecutableDestroy{.executable = executable}); }
};

}  // namespace

void no_tpu_here() {
  for (const auto& [variable, value] : {std::pair{"TPU_SKIP_MDS_QUERY", "1"},
                                        {"TPU_WORKER_HOSTNAMES", "localhost"},
                                        {"TPU_ACCELERATOR_TYPE", "v5litepod-4"},
                                        {"TPU_STDERR_LOG_LEVEL", "3"}})
    ::setenv(variable, value, 0);
}

Compiler::Compiler(const Plugin& plugin, const std::string& topology, const Options& options)
    : plugin_(plugin) {
  const std::vector<NamedValue> values = text_values(options);
  TopologyCreate create{.name = topology.data(),
                        .name_size = topology.size(),
                        .options = values.data(),
                        .option_count = values.size()};
  try {
    plugin.call(create, "describe devices that are not there");
    plugin.require(create.topology, "topology", "describe devices that are not there");
  } catch (const DeviceError& error) {
    throw DeviceError("device.topology",
                      cat(plugin.path(), " does not compile for \"", topology, "\": ", error.message()));
  }
  topology_ = create.topology;
}

Compiler::~Compiler() { plugin_.destroy(TopologyDestroy{.topology = topology_}); }

Compiled Compiler::compile(const Graph& graph, const ProgramOptions& program_options, int replicas) const {
  static constexpr std::string_view kLanguage = "mlir";
  const std::string text = program_text(graph, program_options), options = encode({.replicas = replicas});
  Program program{.code = text.data(),
                  .code_size = text.size(),
                  .format = kLanguage.data(),
                  .format_size = kLanguage.size()};
  program.head.bytes = sizeof program;
  TopologyCompile compile{
      .topology = topology_, .program = &program, .options = options.data(), .options_size = options.size()};
  plugin_.call(compile, "compile the program");
  plugin_.require(compile.executable, "executable", "compile the program");
  const CompiledProgram compiled{plugin_, compile.executable};
  ExecutableMemoryStats stats{.executable = compiled.executable};
  plugin_.call(stats, "say what a program takes");
  ExecutableSerialize serialize{.executable = compiled.executable};
  plugin_.call(serialize, "serialize a program");
  if (serialize.destroy && serialize.serialized) serialize.destroy(serialize.serialized);
  return {stats.arguments, stats.outputs, stats.aliases, stats.temporary, serialize.size};
}

}  // namespace espalier::pjrt
