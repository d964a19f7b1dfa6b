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

// A device's name as TensorFlow and the list's kinds spell it, in our way: "GPU:0", "/GPU:0",
// "/device:GPU:0", "XLA_CPU" and "cpu:0" are "gpu:0", "gpu:0", "gpu:0", "xla-cpu" and "cpu". Others, and
// files, stay.
std::string plain_name(const std::string& name);

// In the order of preference: `given` (files), ESPALIER_PJRT_PLUGINS (files, separated by ':'), and the
// places where the wheels jax-cuda*-pjrt, libtpu, xla-cpu-pjrt, lammps-jax-pjrt-cpu and
// fastatomstruct-xla-cpu put theirs, in VIRTUAL_ENV or CONDA_PREFIX, or else in the folders of Python
// packages of the user and the system. A file is named once; of two with one name the second is "gpu.2".
// Nothing is loaded.
std::vector<Found> find_plugins(const std::vector<std::string>& given);

// A device by its name: "gpu:1", or "gpu" and a plugin's file for the first; "cuda" and "rocm" name a GPU's
// plugin. Raises DeviceError[device.unknown] with the names that are known, or with what is missing,
// [device.plugin] where `given` names no file.
struct FoundDevice {
  Found plugin;
  size_t number = 0;
};
FoundDevice find_device(const std::string& name, const std::vector<std::string>& given);

// The single devices that a name lists: "gpu:0,gpu:2" and "gpu:0,2" two, "gpu:0-3" four, "gpu:1" itself.
// Raises ValueError[device.several] for a list that is not understood.
std::vector<std::string> single_devices(const std::string& names);

// The other way, of single ones of one plugin: "gpu:0-3", "gpu:0,2". REQUIRES: names that a client gives.
std::string joined_name(const std::vector<std::string>& names);

// ESPALIER_XLA_CPU_DEVICES, 1 by itself. Raises ValueError[device.count].
int64_t cpu_devices_asked();

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
