// --device and --plugin: where a verb's functions run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "espalier/run_context.h"
#include "ir/device.h"

namespace espalier::cli {

// --plugin alone.
CLI::Option* add_plugins(CLI::App& verb, std::vector<std::string>& plugins);

struct DeviceFlags {
  std::string name = "cpu";
  std::vector<std::string> plugins;

  CLI::Option* add(CLI::App& verb);
};

// While it lives, functions that this thread calls run on the device, and eager ops on this CPU.
class OnDevice {
 public:
  // Raises DeviceError where the device cannot be used.
  explicit OnDevice(const DeviceFlags& flags);

 private:
  std::shared_ptr<Device> device_;  // null: this CPU
  RunContext context_;
  RunScope scope_;
};

}  // namespace espalier::cli
