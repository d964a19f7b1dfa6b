// A plugin's compiler without its devices: what it says of a program that is compiled for hardware elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/device.h"
#include "pjrt/plugin.h"

namespace espalier::pjrt {

// A TPU's compiler looks for the host it runs on, in a cloud's servers too, and complains: tells it by the
// environment, where that says nothing yet, that here is none. To be called before its plugin is loaded.
void no_tpu_here();

// Bytes of a compiled program: on the device, on each of several, where nothing else is said.
struct Compiled {
  int64_t arguments = 0, outputs = 0;
  int64_t aliases = 0;  // of outputs that take the memory of arguments
  int64_t temporary = 0;
  size_t serialized = 0;  // of the code, as it is kept on disk
  int64_t in_all() const { return arguments + outputs - aliases + temporary; }
};

// Safe from several threads.
class Compiler {
 public:
  // Names and texts, as "target_config".
  using Options = std::vector<std::pair<std::string, std::string>>;
  // `topology` describes the devices in the plugin's words: "v5e:1x1". Raises DeviceError[device.topology]
  // with the plugin's, where it does not know them, or cannot describe devices at all.
  Compiler(const Plugin& plugin, const std::string& topology, const Options& options = {});
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  // For so many devices of the topology, which run it together. Raises DeviceError[device.call],
  // [device.memory], [device.unsupported] with what the compiler says against the program, and
  // UnsupportedError[device.program] (program_text.h).
  Compiled compile(const Graph& graph, const ProgramOptions& options = {}, int replicas = 1) const;

 private:
  const Plugin& plugin_;
  AbiTopology* topology_ = nullptr;
};

}  // namespace espalier::pjrt
