// --device and what is beside it: where a verb's functions run.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "espalier/devices.h"
#include "plan/plan.h"

namespace espalier::cli {

// --plugin alone.
CLI::Option* add_plugins(CLI::App& verb, std::vector<std::string>& plugins);

// --device, --plugin, --memory-growth, --memory-fraction, --matmul-precision.
CLI::Option* add_device(CLI::App& verb, DevicePlan& flags);
// Those that were given on the command line count more than the plan's.
void take_device(const CLI::App& verb, const DevicePlan& flags, DevicePlan& plan);

// --device and --plugin as they name it, behind a command that is suggested; none for this CPU.
void add_device_words(const DevicePlan& plan, std::vector<std::string>& words);

// All of these flags that `verb` was given, for another verb that has them.
std::vector<std::string> given_device_words(const CLI::App& verb);

// Under the strategy "tpu" a device that is not `named` is a TPU. Otherwise `plan`. Raises
// ValueError[distribute.device] where the CPU is named under that strategy.
DevicePlan device_by_strategy(DevicePlan plan, const DistributePlan& distribute, bool named);

// The same of a plan that `verb` has changed. A strategy that a flag names counts more than a device that the
// plan's file names: a note says so.
void settle_device(const CLI::App& verb, TrainPlan& plan);

// As device_by_strategy(); and under the strategy "tpu" the environment tells libtpu which of the TPU's hosts
// this is. Raises what TPUClusterResolver raises, too.
DevicePlan prepare_device(const DevicePlan& plan, const DistributePlan& distribute, bool named);

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
