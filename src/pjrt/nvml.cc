#include "pjrt/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/split.h"

namespace espalier::pjrt {
namespace {

// The library's calls give 0 where they succeed. Devices are handles.
class ManagementLibrary {
 public:
  explicit ManagementLibrary(const std::string& path)
      : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    begun_ = handle_ && call<int()>("nvmlInit_v2");
  }
  ~ManagementLibrary() {
    if (begun_) call<int()>("nvmlShutdown");
    if (handle_) ::dlclose(handle_);
  }
  ManagementLibrary(const ManagementLibrary&) = delete;
  ManagementLibrary& operator=(const ManagementLibrary&) = delete;

  bool begun() const { return begun_; }
  template <class F, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    const auto f = reinterpret_cast<F*>(::dlsym(handle_, name));
    return f && f(arguments...) == 0;
  }
  template <class... Arguments>
  std::string text(const char* name, Arguments... arguments) const {
    char out[128] = {};
    const bool known =
        call<int(Arguments..., char*, unsigned)>(name, arguments..., out, unsigned{sizeof out - 1});
    return known ? out : "";
  }

 private:
  void* handle_;
  bool begun_ = false;
};

using GpuHandle = void*;
struct GpuMemory {
  unsigned long long total = 0, free = 0, used = 0;
};

}  // namespace

Gpus nvidia_gpus(const std::string& library) {
  Gpus out;
  const ManagementLibrary nvml(library);
  if (!nvml.begun()) return out;
  out.driver = nvml.text("nvmlSystemGetDriverVersion");
  unsigned count = 0;
  if (!nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count)) return out;
  for (unsigned i = 0; i < count; ++i) {
    GpuHandle device = nullptr;
    if (!nvml.call<int(unsigned, GpuHandle*)>("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    Gpu gpu{.name = nvml.text("nvmlDeviceGetName", device), .uuid = nvml.text("nvmlDeviceGetUUID", device)};
    GpuMemory memory;
    if (nvml.call<int(GpuHandle, GpuMemory*)>("nvmlDeviceGetMemoryInfo", device, &memory))
      gpu.memory_bytes = static_cast<int64_t>(memory.total);
    nvml.call<int(GpuHandle, int*, int*)>("nvmlDeviceGetCudaComputeCapability", device, &gpu.major,
                                          &gpu.minor);
    out.gpus.push_back(std::move(gpu));
  }
  return out;
}

std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const char* visible) {
  if (!visible) return all;
  std::vector<Gpu> out;
  for (const std::string_view part : split_at(visible, ',')) {
    const std::string_view word = without_blanks_around(part);
    if (word.starts_with("GPU-")) {
      const auto it = std::ranges::find_if(all, [&](const Gpu& gpu) { return gpu.uuid.starts_with(word); });
      if (it == all.end()) break;
      out.push_back(*it);
      continue;
    }
    size_t number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || rest != word.data() + word.size() || number >= all.size()) break;
    out.push_back(all[number]);
  }
  return out;
}

}  // namespace espalier::pjrt
