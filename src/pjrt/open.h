// Devices by the names that people use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pjrt/client_device.h"
#include "pjrt/find.h"

namespace espalier::pjrt {

// The device that `espalier devices` lists by this name, or the first of this plugin's file. The plugin has
// one client a process, created with its options when one of its devices is first asked for, and kept until
// the process ends. Raises DeviceError[device.unknown], [device.plugin], [device.client].
DevicePtr open_device(const std::string& name, const std::vector<std::string>& plugins = {});

// Options of clients to come, by the names of devices without their numbers ("gpu").
// TF_FORCE_GPU_ALLOW_GROWTH of "true" or "false" comes before memory_grows, as TensorFlow has it;
// ESPALIER_XLA_CPU_DEVICES gives cpu_devices.
ClientOptions client_options(const std::string& name);
// Raises StateError[device.begun] where such a client exists and has others then.
void change_client_options(const std::string& name, const std::function<void(ClientOptions&)>& change);

// Devices that were opened.
std::vector<DevicePtr> open_devices();

}  // namespace espalier::pjrt
