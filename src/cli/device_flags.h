// --device and what is beside it: where a verb's functions run.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/plan.h"
#include "espalier/devices.h"

namespace espalier::cli {

// --plugin alone.
CLI::Option* add_plugins(CLI::App& verb, std::vector<std::string>& plugins);

// --device, --plugin, --memory-growth, --memory-fraction, --matmul-precision.
CLI::Option* add_device(CLI::App& verb, DevicePlan& flags);
// Those that were given on the command line count more than the plan's.
void take_device(const CLI::App& verb, const DevicePlan& flags, DevicePlan& plan);

// --device and --plugin as they name it, behind a command that is suggested; none for this CPU.
void add_device_words(const DevicePlan& plan, std::vector<std::string>& words);

// Under the strategy "tpu": the device is a TPU where none but the CPU is named, and the environment tells
// libtpu which of its hosts this is. Otherwise `plan`. Raises what TPUClusterResolver raises.
DevicePlan prepare_device(const DevicePlan& plan, const DistributePlan& distribute);

// While it lives, functions that this thread calls run on the device. Raises DeviceError where that cannot be
// used, StateError[device.begun] where it is, with another share of its memory.
class OnDevice {
 public:
  explicit OnDevice(const DevicePlan& plan);
  // Says to standard error what the device has noted and nobody has taken.
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  DeviceScope scope_;
};

}  // namespace espalier::cli
