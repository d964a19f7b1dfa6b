// Devices by the names that people use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pjrt/client.h"

namespace espalier::pjrt {

// The client of the plugin that `espalier devices` lists by this name, or of this file: one a process,
// created when it is first asked for. Raises DeviceError[device.unknown], [device.plugin], [device.client].
ClientPtr open_device(const std::string& name, const std::vector<std::string>& plugins = {});

}  // namespace espalier::pjrt
