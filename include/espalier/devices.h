// Where programs run: this CPU, or a device of a PJRT plugin, as GPUs and TPUs are. docs/devices.md.
//
//     set_memory_growth("gpu", true);          // before a GPU is first used
//     const DeviceScope gpu("gpu:0");          // where functions, fit, evaluate and predict run
//     model.fit(x, y, {.epochs = 5});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "espalier/run_context.h"
#include "espalier/tensor.h"

namespace espalier {

struct PhysicalDevice {
  std::string name = {};               // "cpu", "gpu:0", "tpu:3", "xla-cpu:0": what DeviceScope takes
  std::string kind = {};               // "CPU", "GPU", "TPU", or "XLA_CPU" and the like for other plugins
  std::string description = {};        // "NVIDIA H100 80GB HBM3, compute capability 9.0"
  int64_t memory_bytes = 0;            // in all; 0: not known before it is used
  std::string plugin = {}, from = {};  // its file, and what named that; "" of our own CPU
  std::string api = {};                // the version of PJRT that the plugin speaks
  std::string problem = {};  // why it cannot be used, and what would bring it; "" where nothing is known
};
// This CPU, then what plugins have: of ESPALIER_PJRT_PLUGINS and of Python's folders, and these files first.
// Starts nothing on a device and takes none of its memory.
std::vector<PhysicalDevice> all_physical_devices(const std::vector<std::string>& plugins = {});
// Those that can be used, as far as that is known before it is tried; with a kind, "GPU" or "gpu", those of
// that kind.
std::vector<PhysicalDevice> list_physical_devices(const std::string& kind = "");

// What follows is of a plugin's devices together, which share a client: "gpu" and "gpu:1" say the same. All
// raise StateError[device.begun] once one of them has been used.
//
// Memory is taken as it is needed, and kept, instead of most of it at the first use.
// TF_FORCE_GPU_ALLOW_GROWTH ("true", "false") comes before it. Of GPUs; for other devices it counts for
// nothing.
void set_memory_growth(const std::string& device, bool grows, Location at = Location::here());
// The most that is taken of a GPU: bytes, or a fraction of its memory above 0 and up to 1. Raises
// ValueError[device.limit]; DeviceError[device.memory] where bytes are asked of a device whose memory is not
// known.
void set_memory_limit(const std::string& device, int64_t bytes, Location at = Location::here());
void set_memory_fraction(const std::string& device, double fraction, Location at = Location::here());
// The GPUs that this process uses, by their names in list_physical_devices(). They are numbered anew from 0,
// in this order. Raises ValueError[device.visible].
void set_visible_devices(const std::vector<std::string>& devices, Location at = Location::here());

struct MemoryInfo {
  int64_t current = 0, peak = 0;  // bytes; where a plugin does not tell, those of tensors
  int64_t limit = 0;              // 0: not known
  // What the compiler says that the largest program takes, arguments and results included; 0: it does not.
  int64_t program = 0;
};
// Of a device; it is opened if it was not. Of "cpu": of this process, as the system counts it.
MemoryInfo memory_info(const std::string& device, Location at = Location::here());

// How products and convolutions of f32 are computed on devices, from what is compiled next on:
// - "highest", at first: in f32, as on the CPU;
// - "high": TF32 or three passes of bfloat16 where that is faster, about 1e-6 of a sum's largest term;
// - "default": the device's fastest: TF32 (10 bits) on NVIDIA, one pass of bfloat16 (8 bits) on TPUs.
// CPUs compute all three in f32. Raises ValueError[device.precision].
void set_matmul_precision(const std::string& precision, Location at = Location::here());

// While it lives, functions that this thread calls (function(), fit, evaluate, predict) run on the device,
// and tensors that they give lie there. Eager ops run where their operands lie. What was computed there can
// be used anywhere and outlives the scope. Scopes of a thread are nested: the last one made ends first.
// Threads may use one model at a time on one device.
class DeviceScope {
 public:
  // "cpu", a name of list_physical_devices(), "gpu" for "gpu:0", TensorFlow's "/GPU:0", or a plugin's file;
  // several devices of a plugin, "gpu:0-3" or "gpu:0,2", are one that computes the same on each, unless a
  // strategy::Mirrored in its scope gives each its part of every batch. The device's client is created when
  // it is first asked for. Raises DeviceError[device.unknown], [device.plugin], [device.client], which say
  // what is missing, [device.forked] in a child of a process that has used it.
  explicit DeviceScope(const std::string& name, const std::vector<std::string>& plugins = {},
                       Location at = Location::here());
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The tensor on a device, "cpu" or another; itself where it lies there already.
Tensor to(const Tensor& tensor, const std::string& device, Location at = Location::here());
// Where a tensor lies: "cpu", "gpu:0".
std::string device_of(const Tensor& tensor, Location at = Location::here());

// Waits until all that was started on the device is done, for timing. What has failed is heard of by who asks
// for its results.
void synchronize(const std::string& device);

// What a device has done in this process. A steady step of fit is one execute and the uploads of x and y.
struct DeviceCounters {
  int64_t compiles = 0, loads = 0;  // programs that were compiled, and that were found compiled on disk
  int64_t executes = 0, uploads = 0, downloads = 0;
  int64_t uploaded_bytes = 0, downloaded_bytes = 0;
};
DeviceCounters device_counters(const std::string& device);

}  // namespace espalier
