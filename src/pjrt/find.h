// Where plugins are, and what could be said of each without starting it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::pjrt {

struct Found {
  std::string name;  // of its devices, which --device takes with a number behind: "gpu", "tpu", "xla-cpu"
  std::string kind;  // "cuda", "rocm", "tpu", "xla-cpu", or "" where neither place nor file tells
  std::string path;
  std::string from;  // what named it: "--plugin", "ESPALIER_PJRT_PLUGINS", or a folder of wheels
};

// In the order of preference: `given` (files), ESPALIER_PJRT_PLUGINS (files, separated by ':'), and the
// places where the wheels jax-cuda*-pjrt, libtpu, xla-cpu-pjrt, lammps-jax-pjrt-cpu and
// fastatomstruct-xla-cpu put theirs, in VIRTUAL_ENV, or else in the folders of Python packages of the user
// and the system. A file is named once; of two with one name the second is "gpu.2". Nothing is loaded.
std::vector<Found> find_plugins(const std::vector<std::string>& given);

// A device by its name: "gpu:1", or "gpu" and a plugin's file for the first; "cuda" and "rocm" name a GPU's
// plugin. Raises DeviceError[device.unknown] with the names that are known, or with what is missing.
struct FoundDevice {
  Found plugin;
  size_t number = 0;
};
FoundDevice find_device(const std::string& name, const std::vector<std::string>& given);

// Why a plugin of this kind cannot have a device here, as far as files of drivers tell, and what would bring
// it; "" where nothing stands against it. Starts nothing, allocates nothing.
std::string missing_driver(const Found& plugin);

// The devices that a plugin of this kind has here, as far as that is known without it.
struct KnownDevice {
  std::string description = {};  // "NVIDIA H100 80GB HBM3, compute capability 9.0"; "" where it is not known
  int64_t memory_bytes = 0;      // 0: not known
};
std::vector<KnownDevice> known_devices(const Found& plugin);

}  // namespace espalier::pjrt
