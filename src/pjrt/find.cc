#include "pjrt/find.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/format.h"
#include "espalier/error.h"
#include "pjrt/nvml.h"

namespace espalier::pjrt {
namespace {

namespace fs = std::filesystem;

// Below a folder of Python packages; a * stands for what follows in a folder's name.
struct Wheel {
  const char* kind;
  const char* folder;
  const char* prefix;  // of folders in it that hold one; "" for itself
  const char* file;
};
constexpr Wheel kWheels[] = {
    {"cuda", "jax_plugins", "xla_cuda", "xla_cuda_plugin.so"},
    {"rocm", "jax_plugins", "xla_rocm", "xla_rocm_plugin.so"},
    {"tpu", "libtpu", "", "libtpu.so"},
    {"xla-cpu", "lammps_jax_pjrt_cpu", "", "pjrt_c_api_cpu_plugin.so"},
    {"xla-cpu", "fastatomstruct_xla_cpu", "", "libpjrt_cpu.so"},
    {"xla-cpu", "xla_plugins/xla_cpu_pjrt", "", "xla_cpu_pjrt.so"},
};

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error))
    out.push_back(it->path());
  std::ranges::sort(out);
  return out;
}

std::vector<fs::path> package_folders() {
  std::vector<fs::path> out;
  const auto add = [&](const fs::path& library, const char* packages) {
    for (const fs::path& version : sorted_entries(library)) {
      if (version.filename().string().starts_with("python3")) out.push_back(version / packages);
    }
  };
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment && *environment) {
    add(fs::path(environment) / "lib", "site-packages");
    return out;
  }
  if (const char* home = std::getenv("HOME"); home && *home)
    add(fs::path(home) / ".local/lib", "site-packages");
  for (const char* prefix : {"/usr/local/lib", "/usr/lib"}) {
    add(prefix, "site-packages");
    add(prefix, "dist-packages");
  }
  return out;
}

std::string kind_of(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  const auto has = [&](const char* part) { return file.find(part) != file.npos; };
  if (has("cuda")) return "cuda";
  if (has("rocm")) return "rocm";
  if (has("tpu")) return "tpu";
  if (has("cpu")) return "xla-cpu";
  return "";
}

bool is_gpu(const std::string& kind) { return kind == "cuda" || kind == "rocm"; }
std::string device_name(const std::string& kind, const std::string& path) {
  if (is_gpu(kind)) return "gpu";
  return kind.empty() ? fs::path(path).stem().string() : kind;
}
Found found_at(const std::string& path, const char* from) {
  const std::string kind = kind_of(path);
  return {device_name(kind, path), kind, path, from};
}

// One a chip.
size_t tpu_files() {
  size_t accelerators = 0, groups = 0;
  for (const fs::path& entry : sorted_entries("/dev"))
    accelerators += entry.filename().string().starts_with("accel");
  for (const fs::path& entry : sorted_entries("/dev/vfio")) groups += entry.filename().string() != "vfio";
  return std::max(accelerators, groups);
}

bool is_file_name(const std::string& name) { return name.find('/') != name.npos || name.ends_with(".so"); }

// What somebody lacks who asks for a device of a kind that no plugin was found for.
std::string missing_plugin(const std::string& base) {
  if (base == "gpu" || base == "cuda")
    return "no plugin for GPUs was found: pip install jax-cuda13-pjrt, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  if (base == "rocm")
    return "no plugin for AMD GPUs was found: pip install jax-rocm7-pjrt, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  if (base == "tpu")
    return "no plugin for TPUs was found: pip install libtpu, or name one by --plugin or "
           "ESPALIER_PJRT_PLUGINS";
  return "";
}

}  // namespace

std::vector<Found> find_plugins(const std::vector<std::string>& given) {
  std::vector<Found> out;
  std::vector<fs::path> seen;
  const auto add = [&](Found found) {
    std::error_code unknown;
    const fs::path real = fs::weakly_canonical(found.path, unknown);
    if (std::ranges::count(seen, real)) return;
    seen.push_back(real);
    const std::string name = found.name;
    for (int next = 2; std::ranges::count(out, found.name, &Found::name); ++next)
      found.name = cat(name, ".", next);
    out.push_back(std::move(found));
  };
  for (const std::string& path : given) add(found_at(path, "--plugin"));
  if (const char* listed = std::getenv("ESPALIER_PJRT_PLUGINS")) {
    const std::string_view all = listed;
    for (size_t at = 0; at <= all.size();) {
      const size_t end = std::min(all.find(':', at), all.size());
      if (end > at) {
        add(found_at(std::string(all.substr(at, end - at)), "ESPALIER_PJRT_PLUGINS"));
      }
      at = end + 1;
    }
  }
  for (const fs::path& packages : package_folders()) {
    for (const Wheel& wheel : kWheels) {
      const fs::path folder = packages / wheel.folder;
      std::vector<fs::path> holders = {folder};
      if (*wheel.prefix) {
        holders = sorted_entries(folder);
        std::erase_if(holders, [&](const fs::path& path) {
          return !path.filename().string().starts_with(wheel.prefix);
        });
      }
      for (const fs::path& holder : holders) {
        const fs::path file = holder / wheel.file;
        std::error_code error;
        if (fs::exists(file, error))
          add({device_name(wheel.kind, ""), wheel.kind, file.string(), packages.string()});
      }
    }
  }
  return out;
}

FoundDevice find_device(const std::string& name, const std::vector<std::string>& given) {
  FoundDevice out;
  std::string base = name;
  if (const size_t colon = name.rfind(':'); colon != name.npos) {
    const char *begin = name.data() + colon + 1, *end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(begin, end, out.number);
    if (error == std::errc() && rest == end) base = name.substr(0, colon);
  }
  const std::vector<Found> all = find_plugins(given);
  for (const Found& found : all) {
    if (found.name == base || found.kind == base || found.path == base) {
      out.plugin = found;
      return out;
    }
  }
  if (is_file_name(base)) {
    out.plugin = found_at(base, "--device");
    return out;
  }
  if (const std::string missing = missing_plugin(base); !missing.empty())
    throw DeviceError("device.unknown", cat("there is no device \"", name, "\": ", missing),
                      "espalier devices");
  std::string known;
  for (const Found& found : all) known += cat(known.empty() ? "" : ", ", found.name);
  throw DeviceError("device.unknown",
                    cat("there is no device \"", name, "\": ",
                        known.empty() ? std::string("no PJRT plugin was found beside our own cpu")
                                      : cat("known are cpu, ", known)),
                    "espalier devices");
}

std::string missing_driver(const Found& plugin) {
  std::error_code error;
  if (plugin.kind == "cuda" && !fs::exists("/dev/nvidiactl", error))
    return "no NVIDIA driver: there is no /dev/nvidiactl; in a container, give it the GPUs (--gpus all)";
  if (plugin.kind == "rocm" && !fs::exists("/dev/kfd", error)) return "no AMD driver: there is no /dev/kfd";
  if (plugin.kind == "tpu" && tpu_files() == 0) return "no TPU: there is neither /dev/accel* nor /dev/vfio/*";
  return "";
}

std::vector<KnownDevice> known_devices(const Found& plugin) {
  if (!missing_driver(plugin).empty()) return {};
  std::vector<KnownDevice> out;
  if (plugin.kind == "cuda") {
    for (const Gpu& gpu : visible_gpus(nvidia_gpus().gpus, std::getenv("CUDA_VISIBLE_DEVICES")))
      out.push_back({cat(gpu.name, ", compute capability ", gpu.major, ".", gpu.minor), gpu.memory_bytes});
  }
  // Without the management library: as many as the driver has files for.
  if (plugin.kind == "cuda" && out.empty() && !std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const fs::path& entry : sorted_entries("/dev")) {
      const std::string name = entry.filename().string();
      if (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(static_cast<unsigned char>(name[6])))
        out.push_back({});
    }
  }
  if (plugin.kind == "tpu") out.resize(tpu_files());
  if (out.empty()) out.resize(1);
  return out;
}

}  // namespace espalier::pjrt
