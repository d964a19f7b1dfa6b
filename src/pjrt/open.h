// Devices by the names that people use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pjrt/client_device.h"
#include "pjrt/find.h"

namespace espalier::pjrt {

// The device that `espalier devices` lists by this name, the first of this plugin's file, or several as one
// (single_devices()). The plugin has
// one client a process, created with its options when one of its devices is first asked for, and kept until
// the process ends. Where an open one has its name already, its devices are "xla-cpu.2:0" and on. Raises
// DeviceError[device.unknown], [device.plugin], [device.client].
DevicePtr open_device(const std::string& name, const std::vector<std::string>& plugins = {});
// Several of one plugin as one (Client::devices). Raises ValueError[device.several] where one is named twice,
// or two are of two plugins, and what open_device() raises.
DevicePtr open_several(const std::vector<std::string>& names, const std::vector<std::string>& plugins = {});
// A single one and those behind it of its plugin, so many in all; 0: all of them. Of several these. Raises
// ValueError[device.several] where there are not as many.
DevicePtr several_from(ClientDevice& first, size_t count);

// Options of clients to come, by the names of devices without their numbers ("gpu").
// TF_FORCE_GPU_ALLOW_GROWTH of "true" or "false" comes before memory_grows, as TensorFlow has it;
// ESPALIER_XLA_CPU_DEVICES gives cpu_devices.
ClientOptions client_options(const std::string& name);
// Raises StateError[device.begun] where such a client exists and has others then.
void change_client_options(const std::string& name, const std::function<void(ClientOptions&)>& change);

// Devices that were opened.
std::vector<DevicePtr> open_devices();

}  // namespace espalier::pjrt
