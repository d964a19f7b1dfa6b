#include "pjrt/find.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier::pjrt {
namespace {

namespace fs = std::filesystem;

// Below a folder of Python packages; a * stands for what follows in a folder's name.
struct Wheel {
  const char* name;
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

std::string name_of(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  const auto has = [&](const char* part) { return file.find(part) != file.npos; };
  if (has("cuda")) return "cuda";
  if (has("rocm")) return "rocm";
  if (has("tpu")) return "tpu";
  if (has("cpu")) return "xla-cpu";
  return fs::path(path).stem().string();
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
    // Of two with one name each has its number: "xla-cpu", "xla-cpu:2".
    const std::string name = found.name;
    for (int next = 2; std::ranges::count(out, found.name, &Found::name); ++next)
      found.name = cat(name, ":", next);
    out.push_back(std::move(found));
  };
  for (const std::string& path : given) add({name_of(path), path, "--plugin"});
  if (const char* listed = std::getenv("ESPALIER_PJRT_PLUGINS")) {
    const std::string_view all = listed;
    for (size_t at = 0; at <= all.size();) {
      const size_t end = std::min(all.find(':', at), all.size());
      if (end > at) {
        const std::string path(all.substr(at, end - at));
        add({name_of(path), path, "ESPALIER_PJRT_PLUGINS"});
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
        if (fs::exists(file, error)) add({wheel.name, file.string(), packages.string()});
      }
    }
  }
  return out;
}

Found find_plugin(const std::string& name, const std::vector<std::string>& given) {
  const std::vector<Found> all = find_plugins(given);
  for (const Found& found : all)
    if (found.name == name || found.path == name) return found;
  if (name.find('/') != name.npos || name.ends_with(".so")) return {name_of(name), name, "--device"};
  std::string known;
  for (const Found& found : all) known += cat(known.empty() ? "" : ", ", found.name);
  throw DeviceError("device.unknown",
                    cat("there is no device \"", name, "\": ",
                        known.empty() ? std::string("no PJRT plugin was found beside our own cpu")
                                      : cat("known are cpu, ", known)),
                    "espalier devices");
}

std::string missing_driver(const Found& plugin) {
  const auto is = [&](std::string_view kind) { return plugin.name.starts_with(kind); };
  std::error_code error;
  if (is("cuda") && !fs::exists("/dev/nvidiactl", error))
    return "no NVIDIA driver: there is no /dev/nvidiactl";
  if (is("rocm") && !fs::exists("/dev/kfd", error)) return "no AMD driver: there is no /dev/kfd";
  if (is("tpu")) {
    for (const fs::path& entry : sorted_entries("/dev")) {
      const std::string name = entry.filename().string();
      if (name.starts_with("accel") || name == "vfio") return "";
    }
    return "no TPU: there is neither /dev/accel* nor /dev/vfio";
  }
  return "";
}

}  // namespace espalier::pjrt
