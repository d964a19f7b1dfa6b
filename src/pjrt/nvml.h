// NVIDIA's management library: what GPUs a machine has, without a context on any of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::pjrt {

struct Gpu {
  std::string name = {};     // "NVIDIA H100 80GB HBM3"
  std::string uuid = {};     // "GPU-..."
  int64_t memory_bytes = 0;  // in all
  int major = 0, minor = 0;  // of its compute capability
};
struct Gpus {
  std::vector<Gpu> gpus;    // in the order of their places on the bus
  std::string driver = {};  // its version; "" where the library is not there
};

// libnvidia-ml.so.1, or the library of this path, is loaded for the call. Empty where there is none, or it
// cannot begin.
Gpus nvidia_gpus(const std::string& library = "libnvidia-ml.so.1");

// Those that CUDA_VISIBLE_DEVICES, of this value, leaves, in its order: numbers, or beginnings of uuids; what
// follows the first unknown one is left out, as CUDA does it. Null: all.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const char* visible);

}  // namespace espalier::pjrt
