// Where plugins are, and what could be said of each without starting it.
#pragma once

#include <string>
#include <vector>

namespace espalier::pjrt {

struct Found {
  std::string name;  // "cuda", "tpu", "cpu" or the file's name: what --device takes
  std::string path;
  std::string from;  // what named it: "--plugin", "ESPALIER_PJRT_PLUGINS", or a folder of wheels
};

// In the order of preference: `given` (files), ESPALIER_PJRT_PLUGINS (files, separated by ':'), and the
// places where the wheels jax-cuda*-pjrt, libtpu, xla-cpu-pjrt, lammps-jax-pjrt-cpu and
// fastatomstruct-xla-cpu put theirs, in VIRTUAL_ENV, or else in the folders of Python packages of the user
// and the system. A file is named once. Nothing is loaded.
std::vector<Found> find_plugins(const std::vector<std::string>& given);

// The plugin of this name or path. Raises DeviceError[device.unknown] with the names that are known.
Found find_plugin(const std::string& name, const std::vector<std::string>& given);

// Why a plugin of this kind cannot have a device here, as far as files of drivers tell; "" where nothing
// stands against it. Starts nothing, allocates nothing.
std::string missing_driver(const Found& plugin);

}  // namespace espalier::pjrt
